package io.howdah.engine;

import java.io.IOException;

/** Is told, exactly once, how a fetch ended: one of the two methods, by the thread that polls the queue. */
public interface FetchListener {
  /**
   * The block is there, from position 0 to the limit of its buffer.
   *
   * @param block the listener's to release, unless it is the buffer that the caller gave
   */
  void fetched(Fetch fetch, RegisteredBuffer block) throws IOException;

  /** There is no block: the peer's handler refused it, it was cancelled, the link was lost, ... */
  void failed(Fetch fetch, IOException cause) throws IOException;
}
