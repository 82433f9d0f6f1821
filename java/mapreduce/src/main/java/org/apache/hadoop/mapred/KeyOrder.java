package org.apache.hadoop.mapred;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.ByteWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.MD5Hash;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.ShortWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapreduce.JobContext;

/**
 * How a comparator that is known to compare bytes orders serialized keys: which bytes of a key count, and whether the
 * first one is signed. Immutable.
 */
final class KeyOrder {
  /** Bytes of a window that hold key, next to the class byte. */
  static final int WIDTH = Long.BYTES - 1;
  private static final int VINT = -1;
  private static final Map<Class<?>, KeyOrder> KNOWN = new HashMap<>();

  static {
    KNOWN.put(Text.Comparator.class, new KeyOrder(VINT, Integer.MAX_VALUE, 0));
    KNOWN.put(BytesWritable.Comparator.class, new KeyOrder(Integer.BYTES, Integer.MAX_VALUE, 0));
    KNOWN.put(LongWritable.Comparator.class, new KeyOrder(0, Long.BYTES, 0x80));
    KNOWN.put(IntWritable.Comparator.class, new KeyOrder(0, Integer.BYTES, 0x80));
    KNOWN.put(ShortWritable.Comparator.class, new KeyOrder(0, Short.BYTES, 0x80));
    KNOWN.put(ByteWritable.Comparator.class, new KeyOrder(0, 1, 0x80));
    KNOWN.put(BooleanWritable.Comparator.class, new KeyOrder(0, Integer.MAX_VALUE, 0));
    KNOWN.put(MD5Hash.Comparator.class, new KeyOrder(0, MD5Hash.MD5_LEN, 0));
    KNOWN.put(NullWritable.Comparator.class, new KeyOrder(0, 0, 0));
  }

  private final int skip;
  private final int most;
  private final int sign;

  /**
   * An order.
   *
   * @param skip bytes before those that are compared, or {@link #VINT} for a length
   * @param most bytes that are compared at most
   * @param sign flips the sign bit of the first byte, if it has one
   */
  private KeyOrder(int skip, int most, int sign) {
    this.skip = skip;
    this.most = most;
    this.sign = sign;
  }

  /** The order of a comparator; null if it is not known to compare bytes. */
  static KeyOrder of(Class<?> comparator) {
    return KNOWN.get(comparator); // a subclass may compare otherwise
  }

  /** The class of the comparator that sorts a job's map output. A comparator of the job's own is not made. */
  static Class<?> comparatorOf(JobConf job) {
    Class<?> configured = job.getClass(JobContext.KEY_COMPARATOR, null);
    return configured != null ? configured
        : WritableComparator.get(job.getMapOutputKeyClass().asSubclass(WritableComparable.class), job).getClass();
  }

  /** Where the bytes that are compared begin. */
  private int start(byte[] page, int key, int length) {
    return key + (skip != VINT ? skip : length == 0 ? 0 : WritableUtils.decodeVIntSize(page[key]));
  }

  private int length(int start, int end) {
    return Math.max(0, Math.min(most, end - start));
  }

  /**
   * Part of a key as an unsigned number, which orders keys that are equal before that part: width bytes, zero where
   * the key has ended, and a class byte that says how many of them the key has, or {@code width + 1} if it goes on.
   * Equal windows are of equal keys unless {@link #goesOn}.
   *
   * @param depth how many bytes of the key come before
   */
  long window(byte[] page, int key, int length, int depth, int width) {
    int start = start(page, key, length);
    int rest = Math.max(0, length(start, key + length) - depth);
    int from = start + depth;
    int count = Math.min(rest, width);
    long window = 0;
    for (int i = 0; i < count; i++) {
      window = window << 8 | page[from + i] & 0xff;
    }
    window <<= 8 * (width - count);
    if (depth == 0 && count > 0) {
      window ^= (long) sign << 8 * (width - 1);
    }
    return window << 8 | Math.min(rest, width + 1);
  }

  static boolean goesOn(long window, int width) {
    return (window & 0xff) > width;
  }

  /** Compares two keys. @param depth how many bytes are known to be equal, at least a window */
  int compare(byte[] one, int key1, int length1, byte[] two, int key2, int length2, int depth) {
    int at1 = start(one, key1, length1);
    int at2 = start(two, key2, length2);
    int end1 = length(at1, key1 + length1);
    int end2 = length(at2, key2 + length2);
    for (int i = depth; i < Math.min(end1, end2); i++) {
      int difference = (one[at1 + i] & 0xff) - (two[at2 + i] & 0xff);
      if (difference != 0) {
        return difference;
      }
    }
    return end1 - end2;
  }
}
