package io.howdah.engine;

/**
 * The peer or the way to it is gone, closed the stream, or broke the protocol. What was under way may or may not have
 * arrived.
 */
public final class LinkException extends EngineException {
  private static final long serialVersionUID = 1;

  private final String peer;

  LinkException(int errno, String message, String peer) {
    super(errno, message);
    this.peer = peer;
  }

  /** The peer as {@link Link#peer()} names it, or null if there was no link yet. */
  public String peer() {
    return peer;
  }
}
