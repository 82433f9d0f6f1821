package io.howdah.engine;

import java.io.IOException;
import java.net.SocketTimeoutException;

/** System error numbers as Linux has them on x86_64 and ppc64le, and the exceptions that they become. */
final class Errno {
  static final int ENOENT = 2;
  static final int EINTR = 4;
  static final int EIO = 5;
  static final int EAGAIN = 11;
  static final int ENOMEM = 12;
  static final int EACCES = 13;
  static final int EBUSY = 16;
  static final int EINVAL = 22;
  static final int EMFILE = 24;
  static final int ERANGE = 34;
  static final int EPROTO = 71;
  static final int EMSGSIZE = 90;
  static final int EOPNOTSUPP = 95;
  static final int ECONNRESET = 104;
  static final int ENOBUFS = 105;
  static final int ESHUTDOWN = 108;
  static final int ETIMEDOUT = 110;
  static final int ECANCELED = 125;

  private Errno() {
  }

  /** What the failed call of this thread becomes, with the engine's words for it. */
  static IOException failure(long result, String peer) {
    return exception((int) result, Native.lastError(), peer);
  }

  /**
   * The exception for a negative errno.
   *
   * @param peer who the call was about, or null
   */
  static IOException exception(int error, String cause, String peer) {
    String text = cause == null || cause.isEmpty() ? "the engine failed with errno " + -error : cause;
    switch (-error) {
      case ETIMEDOUT:
        return new SocketTimeoutException(text);
      case ESHUTDOWN:
        return new EngineClosedException(text);
      case ECONNRESET:
      case EPROTO:
        return new LinkException(-error, text, peer);
      case ENOBUFS:
      case ENOMEM:
        return new MemoryLimitException(-error, text);
      case ENOENT:
        return new NoSuchServiceException(-error, text);
      default:
        return new EngineException(-error, text);
    }
  }

  /** Nanoseconds for the engine from a socket's timeout: 0 waits for ever. */
  static long nanos(long millis) {
    if (millis < 0) {
      throw new IllegalArgumentException("a timeout of " + millis + " ms");
    }
    return millis == 0 || millis > Long.MAX_VALUE / 1_000_000 ? Native.FOREVER : millis * 1_000_000;
  }
}
