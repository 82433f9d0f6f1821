package io.howdah.upgrade;

import java.io.IOException;

/** An option has a value that is not valid. The message names the option, the value, its source and the range. */
public final class BadOptionException extends IOException {
  private static final long serialVersionUID = 1;

  BadOptionException(String message, Throwable cause) {
    super(message, cause);
  }
}
