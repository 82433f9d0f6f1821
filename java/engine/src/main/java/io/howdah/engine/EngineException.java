package io.howdah.engine;

import java.io.IOException;

/** The engine refused or failed; the message is its own and names what to do. */
public class EngineException extends IOException {
  private static final long serialVersionUID = 1;

  private final int errno;

  EngineException(int errno, String message) {
    super(message);
    this.errno = errno;
  }

  /** The system's number for the cause, positive. */
  public int errno() {
    return errno;
  }
}
