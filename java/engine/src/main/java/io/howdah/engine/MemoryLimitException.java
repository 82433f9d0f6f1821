package io.howdah.engine;

/** The engine's memory limit ({@code hadoop.rdma.memory.limit}) is reached, or the system gives no more. */
public final class MemoryLimitException extends EngineException {
  private static final long serialVersionUID = 1;

  MemoryLimitException(int errno, String message) {
    super(errno, message);
  }
}
