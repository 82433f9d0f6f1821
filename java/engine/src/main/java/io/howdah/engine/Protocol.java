package io.howdah.engine;

/** How a stream's messages above the eager threshold move. The order is that of enum hd_protocol. */
public enum Protocol {
  /** As {@code hadoop.rdma.rendezvous.protocol} says. */
  DEFAULT,
  /** The receiver reads from the sender's memory: best for bulk that is pulled. */
  READ,
  /** The sender writes into the receiver's memory: best for pushes and ping-pong. */
  WRITE,
  /** Through frames, copied at both ends; works everywhere. */
  COPY
}
