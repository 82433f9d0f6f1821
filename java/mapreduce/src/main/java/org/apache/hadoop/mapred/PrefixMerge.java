package org.apache.hadoop.mapred;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.util.Progress;

/**
 * Merges sorted inputs into a reducer. Inputs are compared by the first bytes of their keys as one number, then by the
 * rest of the keys; by the job's comparator where it is not known to compare bytes. Records with equal keys come in the
 * order of their inputs. Not thread-safe.
 */
public final class PrefixMerge implements RawKeyValueIterator {
  /** Records between two reports of progress, as a mask. */
  private static final int REPORT = 0xff;

  private final KeyOrder order;
  private final RawComparator<?> comparator;
  private final List<? extends MergeInput> inputs;
  /** A binary heap of inputs that have a record, the least one first. */
  private final MergeInput[] heap;
  private final DataInputBuffer key = new DataInputBuffer();
  private final DataInputBuffer value = new DataInputBuffer();
  private final Progress progress = new Progress();
  private final long bytes;
  private long read;
  private int records;
  private int size;
  private boolean begun;

  /** @param bytes of all inputs, more or less, for the progress */
  public PrefixMerge(JobConf job, List<? extends MergeInput> inputs, long bytes) {
    this.comparator = job.getOutputKeyComparator();
    this.order = KeyOrder.of(comparator.getClass());
    this.inputs = inputs;
    this.bytes = bytes;
    this.heap = new MergeInput[inputs.size()];
  }

  /** Whether keys are compared by their first bytes. */
  public boolean comparesPrefixes() {
    return order != null;
  }

  @Override
  public boolean next() throws IOException {
    if (!begun) {
      begin();
    } else if (size > 0) {
      advance();
    }
    if (size == 0) {
      key.reset(new byte[0], 0);
      value.reset(new byte[0], 0);
      progress.set(1);
      return false;
    }
    MergeInput least = heap[0];
    least.load();
    key.reset(least.keyData, least.keyAt, least.keyLength);
    value.reset(least.valueData, least.valueAt, least.valueLength);
    read += least.keyLength + least.valueLength;
    if ((++records & REPORT) == 0 && bytes > 0) {
      progress.set(Math.min(1, (float) read / bytes));
    }
    return true;
  }

  private void begin() throws IOException {
    begun = true;
    int rank = 0;
    for (MergeInput input : inputs) {
      input.rank = rank++;
      if (moveOn(input)) {
        heap[size++] = input;
      } else {
        input.close();
      }
    }
    for (int i = size / 2 - 1; i >= 0; i--) {
      sink(i);
    }
  }

  private void advance() throws IOException {
    MergeInput least = heap[0];
    if (!moveOn(least)) {
      heap[0] = heap[--size];
      heap[size] = null;
      least.close();
    }
    if (size > 1) {
      sink(0);
    }
  }

  private boolean moveOn(MergeInput input) throws IOException {
    if (!input.next()) {
      return false;
    }
    if (order != null) {
      input.prefix = order.window(input.keyData, input.keyAt, input.keyLength, 0, KeyOrder.WIDTH);
    }
    return true;
  }

  private void sink(int from) {
    int at = from;
    MergeInput input = heap[at];
    for (int child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && isLess(heap[child + 1], heap[child])) {
        child++;
      }
      if (!isLess(heap[child], input)) {
        break;
      }
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = input;
  }

  private boolean isLess(MergeInput one, MergeInput two) {
    int difference;
    if (order == null) {
      difference = comparator.compare(one.keyData, one.keyAt, one.keyLength, two.keyData, two.keyAt, two.keyLength);
    } else {
      difference = Long.compareUnsigned(one.prefix, two.prefix);
      if (difference == 0 && KeyOrder.goesOn(one.prefix, KeyOrder.WIDTH)) {
        difference = order.compare(one.keyData, one.keyAt, one.keyLength, two.keyData, two.keyAt, two.keyLength,
            KeyOrder.WIDTH);
      }
    }
    return difference != 0 ? difference < 0 : one.rank < two.rank;
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
    return progress;
  }

  /** Closes the inputs that were not read to their end. */
  @Override
  public void close() throws IOException {
    if (!begun) {
      begun = true;
      for (MergeInput input : inputs) {
        input.close();
      }
    }
    while (size > 0) {
      heap[--size].close();
      heap[size] = null;
    }
  }
}
