package org.apache.spark.shuffle.rdma;

import io.howdah.engine.RegisteredBuffer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Memory for map output: regions of the engine's memory, cut into segments. Regions are kept until the end, so that
 * memory is faulted in once and reused. The segment that came back last is dealt out first. Thread-safe.
 */
final class OutputMemory {
  static final int SEGMENT = 64 << 10;
  static final int PART = 4 << 10;

  /** Where regions come from. */
  interface Source {
    /** Bytes of a region, a multiple of {@link #SEGMENT}. */
    int regionSize();

    /** @return null if there is no memory for one more */
    RegisteredBuffer allocate();

    void release(RegisteredBuffer region);
  }

  private final Source source;
  private final List<RegisteredBuffer> regions = new ArrayList<>();
  private final Deque<Segment> free = new ArrayDeque<>();
  /** Split segments that have free parts. */
  private final Set<Segment> split = new LinkedHashSet<>();
  private long used;
  private boolean closed;

  OutputMemory(Source source) {
    this.source = source;
  }

  /** @return null if there is no memory */
  synchronized Segment take() {
    Segment segment = whole();
    used += segment == null ? 0 : SEGMENT;
    return segment;
  }

  /** A part of a segment. @return null if there is no memory */
  synchronized Segment takePart() {
    if (split.isEmpty()) {
      Segment whole = whole();
      if (whole == null) {
        return null;
      }
      for (int at = 0; at < SEGMENT; at += PART) {
        whole.parts.push(new Segment(whole.view(at, PART), whole));
      }
      split.add(whole);
    }
    Iterator<Segment> first = split.iterator();
    Segment whole = first.next();
    Segment part = whole.parts.pop();
    if (whole.parts.isEmpty()) {
      first.remove();
    }
    used += PART;
    return part;
  }

  private Segment whole() {
    if (free.isEmpty() && !closed) {
      grow();
    }
    return closed ? null : free.poll();
  }

  private void grow() {
    RegisteredBuffer region = source.allocate();
    if (region == null) {
      return;
    }
    regions.add(region);
    for (int at = 0; at + SEGMENT <= region.length(); at += SEGMENT) {
      ByteBuffer bytes = region.slice(at, SEGMENT);
      free.add(new Segment(bytes, null));
    }
  }

  synchronized void give(Segment segment) {
    used -= segment.size();
    Segment whole = segment.whole;
    if (whole == null) {
      free.push(segment);
    } else {
      whole.parts.push(segment);
      split.add(whole);
      if (whole.parts.size() == SEGMENT / PART) {
        split.remove(whole);
        whole.parts.clear();
        free.push(whole);
      }
    }
    releaseRegions();
  }

  /** Bytes of segments that are dealt out. */
  synchronized long used() {
    return used;
  }

  /** Bytes of all regions. */
  synchronized long size() {
    return (long) regions.size() * source.regionSize();
  }

  /** Deals out no more; regions go back once nothing of them is in use. */
  synchronized void close() {
    closed = true;
    releaseRegions();
  }

  private void releaseRegions() {
    if (closed && used == 0) {
      free.clear();
      split.clear();
      regions.forEach(source::release);
      regions.clear();
    }
  }
}
