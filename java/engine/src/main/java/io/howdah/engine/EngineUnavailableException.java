package io.howdah.engine;

import java.io.IOException;

/** The engine cannot be used in this process; {@link Engine#unavailabilityCause()} has the same cause. */
public final class EngineUnavailableException extends IOException {
  private static final long serialVersionUID = 1;

  EngineUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
