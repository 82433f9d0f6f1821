package org.apache.hadoop.mapred;

import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.io.DataInputBuffer;

/** A sorted input of a {@link PrefixMerge}. The current record stays valid until the next one. Not thread-safe. */
public abstract class MergeInput implements Closeable {
  /** First bytes of the key; the merge keeps them here. */
  long prefix;
  /** Order among inputs with equal keys; the merge keeps it here. */
  int rank;

  /** The current record: where key and value begin, and how long they are. The value is there after {@link #load}. */
  protected byte[] keyData;
  protected int keyAt;
  protected int keyLength;
  protected byte[] valueData;
  protected int valueAt;
  protected int valueLength;

  /** Moves on to the next record. @return false after the last */
  public abstract boolean next() throws IOException;

  /** Reads the value, if it was not read with the key. Called once the record is the least of all inputs' records. */
  void load() throws IOException {
  }

  /** The records of another merge, which closes with the input. */
  public static MergeInput of(RawKeyValueIterator records) {
    return new MergeInput() {
      @Override
      public boolean next() throws IOException {
        if (!records.next()) {
          return false;
        }
        DataInputBuffer key = records.getKey();
        keyData = key.getData();
        keyAt = key.getPosition();
        keyLength = key.getLength() - keyAt;
        DataInputBuffer value = records.getValue();
        valueData = value.getData();
        valueAt = value.getPosition();
        valueLength = value.getLength() - valueAt;
        return true;
      }

      @Override
      public void close() throws IOException {
        records.close();
      }
    };
  }
}
