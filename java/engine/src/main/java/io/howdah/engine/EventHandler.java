package io.howdah.engine;

import java.io.IOException;

/**
 * What a queue's events are given to, one after the other, by the thread that polls. Handlers must not wait. What one
 * throws is thrown by the poll, after the other events were handled.
 */
public interface EventHandler {
  /**
   * A peer opened a stream to a service of ours. The handler owns the stream; not even the first message need have
   * come. By default it is closed.
   */
  default void accepted(EngineStream stream, Service service) throws IOException {
    stream.close();
  }

  /** A registered stream has something to read, its end, or an error. */
  default void readable(EngineStream stream) throws IOException {
  }

  /** A registered stream that refused to write has room again, or failed. */
  default void writable(EngineStream stream) throws IOException {
  }

  /** A peer asks for a block of a service of ours. It must be answered, now or later; by default it is refused. */
  default void requested(FetchRequest request, Service service) throws IOException {
    request.refuse(Errno.ENOENT, "this service has no blocks");
  }
}
