package io.howdah.upgrade;

/**
 * What a host counts in its own metrics. The process-wide counts of {@link Traffic} are kept whether a host does or
 * not. Calls come from any thread.
 */
public interface UpgradeMetrics {
  /** A client connection was made over the engine. */
  default void clientConnected() {
  }

  /** A client connection uses a socket although the engine is enabled. */
  default void clientFellBack() {
  }

  /** A client connection uses a socket, for whatever reason. */
  default void clientSocket() {
  }

  /** A client greets. */
  default void greeted() {
  }

  /** A greeting ended without a link. */
  default void greetingFailed() {
  }

  /** A server took a connection over the engine. */
  default void serverConnected() {
  }

  /** A server that has the engine enabled took a connection over a socket. */
  default void serverSocket() {
  }
}
