package io.howdah.engine;

import java.util.Objects;

/** What is asked for: all of a block at first. Not thread-safe. */
public final class FetchParams {
  /** Longest name of a block, in bytes. */
  public static final int NAME_MAX = 1024;

  private static final long ALL = -1;

  final String service;
  final byte[] name;
  long offset;
  long length = ALL;
  RegisteredBuffer into;

  /** A block of a service. @param name 1 to {@link #NAME_MAX} bytes of any kind */
  public FetchParams(String service, byte[] name) {
    if (name.length < 1 || name.length > NAME_MAX) {
      throw new IllegalArgumentException("a block's name of " + name.length + " bytes");
    }
    this.service = Objects.requireNonNull(service);
    this.name = name.clone();
  }

  /** Everything from an offset on. */
  public FetchParams from(long start) {
    return range(start, ALL);
  }

  /** At most `bytes` from an offset on. */
  public FetchParams range(long start, long bytes) {
    if (start < 0 || bytes < ALL) {
      throw new IllegalArgumentException("bytes " + start + " and " + bytes + " more");
    }
    offset = start;
    length = bytes;
    return this;
  }

  /** Where the bytes go: the buffer stays the caller's. By default a buffer of the right size is taken. */
  public FetchParams into(RegisteredBuffer buffer) {
    into = buffer;
    return this;
  }
}
