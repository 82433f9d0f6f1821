package io.howdah.engine;

/** There is nothing of that name: no service at the peer, no block, no link to an address. */
public final class NoSuchServiceException extends EngineException {
  private static final long serialVersionUID = 1;

  NoSuchServiceException(int errno, String message) {
    super(errno, message);
  }
}
