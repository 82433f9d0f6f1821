package org.apache.hadoop.mapred;

import java.util.Arrays;
import org.apache.hadoop.mapred.RecordPages.Vints;
import org.apache.hadoop.util.Progressable;

/**
 * Sorts references to records by windows of their keys, from the most significant byte on; where windows are equal and
 * keys go on, by the next window. Keys that share more than {@link #LEVELS} windows are merged by comparing the rest.
 * Stable. Not thread-safe.
 */
final class PrefixSort {
  private static final int SMALL = 48;
  private static final int LEVELS = 16;
  private static final int TOP = Long.SIZE - 8;
  private static final int PROGRESS = 1 << 16;

  private final RecordPages pages;
  private final KeyOrder order;
  private final long[] windows;
  private final int[] references;
  private final Progressable progress;
  private final int[][] starts = new int[Long.BYTES][257];
  private long[] otherWindows;
  private int[] otherReferences;

  /** A sort of a page's references. */
  PrefixSort(RecordPages pages, KeyOrder order, long[] windows, int[] references, Progressable progress) {
    this.pages = pages;
    this.order = order;
    this.windows = windows;
    this.references = references;
    this.progress = progress;
  }

  /** Sorts the first so many. @param width bytes of a key in the windows as they are */
  void sort(int count, int width) {
    otherWindows = new long[count];
    otherReferences = new int[count];
    radix(0, count, TOP);
    resolve(0, count, 0, width, 0);
  }

  /** Sorts by the windows' bytes from the given one down. */
  private void radix(int from, int to, int top) {
    for (int shift = top; shift >= 0; shift -= 8) {
      if (to - from <= SMALL) {
        insert(from, to);
        return;
      }
      int[] start = starts[shift >>> 3];
      if (!distribute(from, to, shift, start)) {
        continue; // this byte is the same in all
      }
      // Each start has become its bucket's end.
      int begin = from;
      for (int i = 0; i < 256; i++) {
        if (start[i] - begin > 1) {
          radix(begin, start[i], shift - 8);
        }
        begin = start[i];
      }
      return;
    }
  }

  private boolean distribute(int from, int to, int shift, int[] start) {
    Arrays.fill(start, 0);
    for (int i = from; i < to; i++) {
      start[(int) (windows[i] >>> shift & 0xff) + 1]++;
    }
    if (start[(int) (windows[from] >>> shift & 0xff) + 1] == to - from) {
      return false;
    }
    start[0] = from;
    for (int i = 1; i < 256; i++) {
      start[i] += start[i - 1];
    }
    for (int i = from; i < to; i++) {
      long window = windows[i];
      int place = start[(int) (window >>> shift & 0xff)]++;
      otherWindows[place] = window;
      otherReferences[place] = references[i];
    }
    System.arraycopy(otherWindows, from, windows, from, to - from);
    System.arraycopy(otherReferences, from, references, from, to - from);
    return true;
  }

  private void insert(int from, int to) {
    for (int i = from + 1; i < to; i++) {
      long window = windows[i];
      int reference = references[i];
      int at = i;
      while (at > from && windows[at - 1] + Long.MIN_VALUE > window + Long.MIN_VALUE) {
        windows[at] = windows[at - 1];
        references[at] = references[at - 1];
        at--;
      }
      windows[at] = window;
      references[at] = reference;
    }
  }

  /** Orders records whose windows are equal although their keys go on. */
  private void resolve(int from, int to, int depth, int width, int level) {
    int begin = from;
    while (begin < to) {
      long window = windows[begin];
      int end = begin + 1;
      while (end < to && windows[end] == window) {
        end++;
      }
      if (end - begin > 1 && KeyOrder.goesOn(window, width)) {
        next(begin, end, depth + width, level + 1);
      }
      begin = end;
    }
  }

  private void next(int from, int to, int depth, int level) {
    if (level > LEVELS) {
      merge(from, to, depth);
      return;
    }
    long different = 0;
    for (int i = from; i < to; i++) {
      int reference = references[i];
      byte[] page = pages.page(reference);
      int at = pages.offset(reference);
      int value = at + Vints.sizeAt(page, at);
      windows[i] = order.window(page, value + Vints.sizeAt(page, value), Vints.read(page, at), depth, KeyOrder.WIDTH);
      different |= windows[i] ^ windows[from];
    }
    if (different != 0) { // often keys are equal
      radix(from, to, Long.SIZE - 1 - Long.numberOfLeadingZeros(different) & -Byte.SIZE);
    }
    resolve(from, to, depth, KeyOrder.WIDTH, level);
  }

  private void merge(int from, int to, int depth) {
    if (to - from < 2) {
      return;
    }
    int middle = from + to >>> 1;
    merge(from, middle, depth);
    merge(middle, to, depth);
    if (to - from > PROGRESS) {
      progress.progress();
    }
    if (compare(references[middle - 1], references[middle], depth) <= 0) {
      return;
    }
    System.arraycopy(references, from, otherReferences, from, to - from);
    int left = from;
    int right = middle;
    for (int i = from; i < to; i++) {
      boolean first = right >= to
          || left < middle && compare(otherReferences[left], otherReferences[right], depth) <= 0;
      references[i] = otherReferences[first ? left++ : right++];
    }
  }

  private int compare(int one, int two, int depth) {
    byte[] page1 = pages.page(one);
    byte[] page2 = pages.page(two);
    int at1 = pages.offset(one);
    int at2 = pages.offset(two);
    int value1 = at1 + Vints.sizeAt(page1, at1);
    int value2 = at2 + Vints.sizeAt(page2, at2);
    return order.compare(page1, value1 + Vints.sizeAt(page1, value1), Vints.read(page1, at1), page2,
        value2 + Vints.sizeAt(page2, value2), Vints.read(page2, at2), depth);
  }
}
