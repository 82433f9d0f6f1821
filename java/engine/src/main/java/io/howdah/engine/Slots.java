package io.howdah.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Numbers for objects, to be given to the engine and back. A number is a place and a count of its uses, so one of an
 * object that was removed finds nothing. Looking up takes no lock and allocates nothing. Thread-safe.
 */
final class Slots {
  private static final int FIRST_SIZE = 64;

  /** An object in its place. Immutable. */
  private static final class Entry {
    final long id;
    final Object object;

    Entry(long id, Object object) {
      this.id = id;
      this.object = object;
    }
  }

  private volatile AtomicReferenceArray<Entry> entries = new AtomicReferenceArray<>(FIRST_SIZE);
  private int[] free = new int[FIRST_SIZE];
  private int freeCount;
  private int used;
  private long uses;

  synchronized long add(Object object) {
    int place = freeCount > 0 ? free[--freeCount] : used++;
    if (place == entries.length()) {
      grow();
    }
    long id = ++uses << 32 | place;
    entries.set(place, new Entry(id, object));
    return id;
  }

  private void grow() {
    AtomicReferenceArray<Entry> larger = new AtomicReferenceArray<>(2 * entries.length());
    for (int i = 0; i < entries.length(); i++) {
      larger.set(i, entries.get(i));
    }
    free = Arrays.copyOf(free, larger.length());
    entries = larger;
  }

  /** The object with a number, null if it was removed. */
  Object get(long id) {
    AtomicReferenceArray<Entry> all = entries;
    int place = (int) id;
    Entry entry = place >= 0 && place < all.length() ? all.get(place) : null;
    return entry != null && entry.id == id ? entry.object : null;
  }

  /** @return the object, null if it was removed before */
  synchronized Object remove(long id) {
    Object object = get(id);
    if (object != null) {
      entries.set((int) id, null);
      free[freeCount++] = (int) id;
    }
    return object;
  }

  synchronized int size() {
    return used - freeCount;
  }

  synchronized List<Object> all() {
    List<Object> objects = new ArrayList<>();
    for (int i = 0; i < used; i++) {
      if (entries.get(i) != null) {
        objects.add(entries.get(i).object);
      }
    }
    return objects;
  }
}
