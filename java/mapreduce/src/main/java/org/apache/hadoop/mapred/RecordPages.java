package org.apache.hadoop.mapred;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.util.Progressable;

/**
 * Records of a map in pages of the heap, each as an IFile has it: both lengths, key, value, all in one page. A
 * reference is the page's number and the place in it. A record that is larger than a page has a page of its own. Beside
 * each reference there is a window: the partition and the beginning of the key ({@link KeyOrder#window}). Pages, index
 * and what sorting takes are never more than the budget: if it is used up while a record is serialized, and the heap
 * has no room for more, the records before are spilled. Not thread-safe.
 */
final class RecordPages {
  /** Bytes of a record beside its own: window, reference, and the same again while they are sorted. */
  static final int INDEX_BYTES = 2 * (Long.BYTES + Integer.BYTES);
  private static final int PAGE_MOST = 4 << 20;
  private static final int PAGE_LEAST = 64 << 10;
  private static final int PAGES_PER_BUDGET = 32;
  private static final int STEPS_PER_BUDGET = 8;
  private static final long MEMORY_MOST = 2047L << 20;
  private static final int ARRAY_MOST = Integer.MAX_VALUE - 8;
  /** Left out of a page, so that the array with the JVM's header is no larger than a power of two. */
  private static final int ARRAY_HEADER = 16;

  /** Takes all complete records; they are gone afterwards. */
  interface Spiller {
    void spill() throws IOException;
  }

  /** Grants memory beyond the budget. */
  interface Lender {
    /** @param held bytes in use @param more bytes that are asked for; 0: whether those in use may be kept */
    boolean grants(long held, long more);
  }

  /** A record has no room in an empty buffer. */
  static final class TooLargeException extends IOException {
    private static final long serialVersionUID = 1;

    TooLargeException(long bytes, long budget) {
      super("a record of " + bytes + " bytes or more, with a sort buffer of " + budget);
    }
  }

  private final long ownBudget;
  private final Lender lender;
  private final int pageSize;
  private final int pageBits;
  private final KeyOrder order;
  private final int partitionBytes;
  private final Spiller spiller;
  private final DataOutputStream output = new Output();
  private final ArrayDeque<byte[]> spare = new ArrayDeque<>();
  private final int[] counts;
  /** The own budget, and what was granted since the last spill. */
  private long budget;
  private byte[][] pages = new byte[PAGES_PER_BUDGET][];
  private int pageCount;
  /** Bytes of the pages in use. */
  private long held;
  /** The page that is written to. After a spill in the middle of a record it is none of the pages in use. */
  private byte[] page = new byte[0];
  /** How much of the page may be used. */
  private int limit;
  /** Where the record that is being written begins, and where it goes on. */
  private int start;
  private int position;
  /** Bytes of the lengths of the last record, which are left free before the next one. */
  private int header = 2;
  private long[] windows = new long[0];
  private int[] references = new int[0];
  private int count;
  private long bytes;

  /** Pages for partitions up to 65,536, with a budget in bytes for records and their index. */
  RecordPages(long budget, Lender lender, int partitions, KeyOrder order, Spiller spiller) {
    this.budget = budget;
    this.ownBudget = budget;
    this.lender = lender;
    this.order = order;
    this.spiller = spiller;
    int size = (int) Math.max(PAGE_LEAST, Math.min(PAGE_MOST, Long.highestOneBit(budget / PAGES_PER_BUDGET)));
    pageBits = Integer.numberOfTrailingZeros(size);
    pageSize = size - ARRAY_HEADER;
    partitionBytes = partitions <= 1 ? 0 : partitions <= 1 << 8 ? 1 : 2;
    counts = new int[partitions];
  }

  // A record.

  /** Where serializers write. */
  DataOutputStream output() {
    return output;
  }

  /** Begins a record in place of one that was not finished. Spills first if there is no room for its index. */
  void begin() throws IOException {
    position = start;
    while (count > 0 && (held + indexBytes() > budget || count == references.length && !growIndex())) {
      extendOrSpill();
    }
    trim(0);
    room(header);
    position += header;
  }

  /** Bytes that were written since {@link #begin}. */
  int written() {
    return position - start - header;
  }

  /** Ends the record. @param keyLength how many of the bytes are the key's */
  void finish(int partition, int keyLength) throws IOException {
    int valueLength = written() - keyLength;
    int needed = Vints.size(keyLength) + Vints.size(valueLength);
    if (needed != header) {
      int written = written();
      room(Math.max(0, needed - header));
      System.arraycopy(page, start + header, page, start + needed, written);
      header = needed;
      position = start + needed + written;
    }
    Vints.write(page, Vints.write(page, start, keyLength), valueLength);
    if (count == references.length) {
      growIndex();
    }
    int width = KeyOrder.WIDTH - partitionBytes;
    long window = order.window(page, start + header, keyLength, 0, width);
    windows[count] = partitionBytes == 0 ? window : window | (long) partition << Long.SIZE - 8 * partitionBytes;
    references[count] = pageCount - 1 << pageBits | start;
    counts[partition]++;
    count++;
    bytes += position - start;
    start = position;
    if (page.length > pageSize) {
      limit = start; // references reach as far as an ordinary page
    }
  }

  /** Makes the index longer, as far as the budget goes. @return whether there is room for another record */
  private boolean growIndex() {
    long each = count == 0 ? 0 : bytes / count + INDEX_BYTES;
    long possible = count == 0 ? 0 : count + Math.max(0, budget - bytes - (long) count * INDEX_BYTES) / each;
    long wanted = Math.max(Math.min(2L * count, possible), count + count / 8 + 1024L);
    int length = (int) Math.min(Math.min(wanted, ARRAY_MOST), (budget - used()) / INDEX_BYTES);
    if (length <= count) {
      return false;
    }
    trim((long) INDEX_BYTES / 2 * (length - references.length));
    windows = Arrays.copyOf(windows, length);
    references = Arrays.copyOf(references, length);
    return true;
  }

  private void room(int more) throws IOException {
    if (more > limit - position) {
      turn(more);
    }
  }

  /** Moves the record that is being written to a page where it has room. */
  private void turn(int more) throws IOException {
    byte[] from = page;
    int at = start;
    int partial = position - start;
    long needed = (long) partial + more;
    boolean alone = start == 0 && partial > 0;
    if (budget > ownBudget && count > 0 && !lender.grants(memory(), 0)) {
      spill();
    }
    int size = sizeFor(needed, alone);
    while (size == 0 && count > 0) {
      extendOrSpill();
      size = sizeFor(needed, alone);
    }
    if (size == 0) {
      position = start;
      clear();
      throw new TooLargeException(needed, budget);
    }
    page = pageCount == 0 && from.length == size ? from : allocate(size);
    limit = size;
    if (alone && pageCount > 0) {
      held -= from.length;
      pageCount--;
    }
    held += size;
    if (pageCount == pages.length) {
      pages = Arrays.copyOf(pages, 2 * pageCount);
    }
    pages[pageCount++] = page;
    System.arraycopy(from, at, page, 0, partial); // may be the same page
    start = 0;
    position = partial;
  }

  private byte[] allocate(int size) {
    if (size == pageSize && !spare.isEmpty()) {
      return spare.pop();
    }
    trim(size);
    return new byte[size];
  }

  /** Gives up spare pages for which there is no room beside so many bytes more. */
  private void trim(long more) {
    while (!spare.isEmpty() && used() + more + (long) spare.size() * pageSize + indexBytes() > budget) {
      spare.pop();
    }
  }

  /** Bytes of the index with one record more, and of what it takes to sort it. */
  private long indexBytes() {
    return (long) INDEX_BYTES / 2 * (Math.max(references.length, count + 1) + count + 1);
  }

  /** Bytes of pages but for the spare ones. */
  private long used() {
    return pageCount == 0 ? page.length : held;
  }

  /** Bytes of memory in use, with what sorting takes. */
  long memory() {
    return used() + (long) spare.size() * pageSize + (long) Integer.BYTES * references.length
        + (windows.length == 0 ? 0 : (long) Long.BYTES * windows.length + (long) INDEX_BYTES / 2 * count);
  }

  /**
   * Size of a page for a record, beside the page that it is copied from; 0 if there is no room.
   *
   * @param alone whether the record has outgrown a page of its own, and may go on growing
   */
  private int sizeFor(long needed, boolean alone) {
    long free = Math.min(budget - used() - indexBytes(), ARRAY_MOST);
    long wanted = needed <= pageSize ? pageSize : alone ? Math.max(needed, page.length * 3L / 2) : needed;
    return needed > free ? 0 : (int) Math.min(free, wanted);
  }

  private void extendOrSpill() throws IOException {
    long step = ownBudget / STEPS_PER_BUDGET;
    if (budget + step <= MEMORY_MOST && lender.grants(memory(), step)) {
      budget += step;
    } else {
      spill();
    }
  }

  /** Spills all complete records. What was written of the next one stays in its page. Granted memory is given back. */
  private void spill() throws IOException {
    spiller.spill();
    budget = ownBudget;
    clear();
    trim(0);
  }

  /** Bytes that may be used at present. */
  long budget() {
    return budget;
  }

  /** Forgets all complete records. Memory is kept for the next ones. */
  void clear() {
    int partial = position - start;
    for (int i = 0; i < pageCount; i++) {
      if (pages[i].length == pageSize && (pages[i] != page || partial == 0)) {
        spare.push(pages[i]);
      }
      pages[i] = null;
    }
    pageCount = 0;
    held = 0;
    count = 0;
    bytes = 0;
    Arrays.fill(counts, 0);
    if (windows.length == 0 || (long) INDEX_BYTES * references.length > budget / 2) { // the next records may be larger
      windows = new long[0];
      references = new int[0];
    }
    if (partial == 0) {
      page = new byte[0];
      limit = 0;
      start = 0;
      position = 0;
    }
  }

  /** Gives back what sorted records do not need. No record can be added until {@link #clear}. */
  void seal() {
    spare.clear();
    windows = new long[0];
  }

  /** Gives all memory back. */
  void release() {
    position = start;
    clear();
    spare.clear();
    windows = new long[0];
    references = new int[0];
  }

  // All records.

  /** How many there are. */
  int count() {
    return count;
  }

  /** How many of a partition. */
  int count(int partition) {
    return counts[partition];
  }

  /** Bytes of all, with their lengths. */
  long bytes() {
    return bytes;
  }

  /** Sorts by partition and key. Records with equal keys keep the order in which they came. */
  void sort(Progressable progress) {
    trim(0);
    new PrefixSort(this, order, windows, references, progress).sort(count, KeyOrder.WIDTH - partitionBytes);
  }

  int reference(int index) {
    return references[index];
  }

  byte[] page(int reference) {
    return pages[reference >>> pageBits];
  }

  int offset(int reference) {
    return reference & (1 << pageBits) - 1;
  }

  /** Serializers write here, without locks. */
  private final class Output extends DataOutputStream {
    Output() {
      super(new OutputStream() {
        @Override
        public void write(int b) throws IOException {
          room(1);
          page[position++] = (byte) b;
        }

        @Override
        public void write(byte[] from, int offset, int length) throws IOException {
          room(length);
          System.arraycopy(from, offset, page, position, length);
          position += length;
        }
      });
    }

    @Override
    public void write(int b) throws IOException {
      room(1);
      page[position++] = (byte) b;
    }

    @Override
    public void write(byte[] from, int offset, int length) throws IOException {
      room(length);
      System.arraycopy(from, offset, page, position, length);
      position += length;
    }
  }

  /** Lengths as {@link WritableUtils#writeVInt} writes them, in arrays. Not negative. */
  static final class Vints {
    private Vints() {
    }

    static int size(int value) {
      return value <= 127 ? 1 : 1 + (Integer.SIZE - Integer.numberOfLeadingZeros(value) + 7) / 8;
    }

    /** @return where it ends */
    static int write(byte[] to, int at, int value) {
      if (value <= 127) {
        to[at] = (byte) value;
        return at + 1;
      }
      int length = size(value) - 1;
      to[at] = (byte) (-112 - length);
      for (int i = 1; i <= length; i++) {
        to[at + i] = (byte) (value >>> 8 * (length - i));
      }
      return at + 1 + length;
    }

    static int read(byte[] from, int at) {
      int first = from[at];
      if (first >= 0) {
        return first;
      }
      int value = 0;
      for (int i = 1; i <= -112 - first; i++) {
        value = value << 8 | from[at + i] & 0xff;
      }
      return value;
    }

    /** Bytes of the number that begins here. */
    static int sizeAt(byte[] from, int at) {
      int first = from[at];
      return first >= 0 ? 1 : -111 - first;
    }
  }
}
