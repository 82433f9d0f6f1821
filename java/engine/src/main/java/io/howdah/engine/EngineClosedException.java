package io.howdah.engine;

import java.nio.channels.ClosedChannelException;

/**
 * The engine, link or stream was closed on this side. A link that was idle is closed by itself: if the engine is still
 * open, connect again.
 */
public final class EngineClosedException extends ClosedChannelException {
  private static final long serialVersionUID = 1;

  private final String message;

  EngineClosedException(String message) {
    this.message = message;
  }

  @Override
  public String getMessage() {
    return message;
  }
}
