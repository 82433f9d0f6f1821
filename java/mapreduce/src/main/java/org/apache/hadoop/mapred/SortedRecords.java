package org.apache.hadoop.mapred;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.mapred.RecordPages.Vints;
import org.apache.hadoop.util.Progress;
import org.apache.hadoop.util.Progressable;

/** Records in pages, in the order of partitions and keys: copied to an IFile, iterated or read. Not thread-safe. */
final class SortedRecords {
  private static final int COPY = 64 << 10;

  private final RecordPages pages;
  private final int[] ends;
  private byte[] buffer;

  /** Sorts the pages' records. */
  SortedRecords(RecordPages pages, int partitions, Progressable progress) {
    this.pages = pages;
    pages.sort(progress);
    ends = new int[partitions];
    int end = 0;
    for (int i = 0; i < partitions; i++) {
      end += pages.count(i);
      ends[i] = end;
    }
  }

  /** How many there are in all. */
  int count() {
    return pages.count();
  }

  /** Bytes of all, with their lengths. */
  long bytes() {
    return pages.bytes();
  }

  boolean isEmpty(int partition) {
    return start(partition) == ends[partition];
  }

  private int start(int partition) {
    return partition == 0 ? 0 : ends[partition - 1];
  }

  /** Bytes of memory that they take. */
  long memory() {
    return pages.memory();
  }

  /** Gives back the memory that only more records would need. No more can be added until {@link #clear}. */
  void seal() {
    pages.seal();
  }

  /** Forgets them: they are in a file. */
  void clear() {
    pages.clear();
    Arrays.fill(ends, 0);
  }

  /** Appends a partition's records to a file, as they are. */
  void copy(int partition, IFile.Writer<?, ?> writer, Progressable progress) throws IOException {
    if (buffer == null) {
      buffer = new byte[COPY];
    }
    OutputStream out = writer.getOutputStream();
    int filled = 0;
    int end = ends[partition];
    for (int i = start(partition); i < end; i++) {
      int reference = pages.reference(i);
      byte[] page = pages.page(reference);
      int at = pages.offset(reference);
      int value = at + Vints.sizeAt(page, at);
      int length = value + Vints.sizeAt(page, value) - at + Vints.read(page, at) + Vints.read(page, value);
      if (length > COPY - filled) {
        out.write(buffer, 0, filled);
        filled = 0;
        progress.progress();
      }
      if (length > COPY) {
        out.write(page, at, length);
      } else {
        System.arraycopy(page, at, buffer, filled, length);
        filled += length;
      }
      writer.updateCountersForExternalAppend(length);
    }
    out.write(buffer, 0, filled);
  }

  /** A partition's records for a combiner. */
  RawKeyValueIterator iterator(int partition) {
    return new Records(start(partition), ends[partition]);
  }

  /** A partition's records for a merge. */
  <K, V> IFile.Reader<K, V> reader(int partition, Configuration conf) throws IOException {
    return new Reader<>(conf, new Records(start(partition), ends[partition]),
        bytes() * (ends[partition] - start(partition)) / Math.max(1, count()));
  }

  private final class Records implements RawKeyValueIterator {
    private final DataInputBuffer key = new DataInputBuffer();
    private final DataInputBuffer value = new DataInputBuffer();
    private final int end;
    private int next;

    Records(int start, int end) {
      this.next = start;
      this.end = end;
    }

    @Override
    public boolean next() {
      if (next == end) {
        return false;
      }
      int reference = pages.reference(next++);
      byte[] page = pages.page(reference);
      int at = pages.offset(reference);
      int second = at + Vints.sizeAt(page, at);
      int keyAt = second + Vints.sizeAt(page, second);
      int keyLength = Vints.read(page, at);
      key.reset(page, keyAt, keyLength);
      value.reset(page, keyAt + keyLength, Vints.read(page, second));
      return true;
    }

    @Override
    public DataInputBuffer getKey() {
      return key;
    }

    @Override
    public DataInputBuffer getValue() {
      return value;
    }

    @Override
    public Progress getProgress() {
      return null;
    }

    @Override
    public void close() {
      // nothing is open
    }
  }

  /** Stands for an IFile that is read. Its length is an estimate, for the progress of a merge. */
  private static final class Reader<K, V> extends IFile.Reader<K, V> {
    private final Records records;

    Reader(Configuration conf, Records records, long length) throws IOException {
      super(conf, null, length, null, null);
      this.records = records;
    }

    @Override
    public boolean nextRawKey(DataInputBuffer key) {
      if (!records.next()) {
        return false;
      }
      set(key, records.key);
      return true;
    }

    @Override
    public void nextRawValue(DataInputBuffer value) {
      set(value, records.value);
    }

    private void set(DataInputBuffer to, DataInputBuffer from) {
      int length = from.getLength() - from.getPosition();
      to.reset(from.getData(), from.getPosition(), length);
      bytesRead += length;
    }

    @Override
    public long getPosition() {
      return bytesRead;
    }

    @Override
    public long getLength() {
      return fileLength;
    }

    @Override
    public void close() {
      // nothing is open
    }
  }
}
