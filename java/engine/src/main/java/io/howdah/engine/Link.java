package io.howdah.engine;

import java.io.Closeable;
import java.io.IOException;
import java.util.Objects;
import java.util.Optional;

/**
 * A link to a peer process, shared by all that the two have to say. This object is a reference: closing it gives the
 * reference up, and the link itself stays until it was idle for {@code hadoop.rdma.link.idle.timeout}. Thread-safe.
 */
public final class Link implements Closeable {
  private final EngineCore core;
  private final Handle handle;
  private final String peer;
  private final String transport;

  Link(EngineCore core, long pointer) {
    this.core = core;
    this.handle = new Handle(this, Handle.Kind.LINK, pointer);
    this.peer = Native.linkPeer(pointer);
    this.transport = Native.linkTransport(pointer);
  }

  static Optional<Link> find(EngineCore core, String address) throws IOException {
    Objects.requireNonNull(address);
    long engine = core.enter();
    try {
      long link = Native.linkFind(engine, address);
      if (link == -Errno.ENOENT) {
        return Optional.empty();
      }
      if (link < 0) {
        throw Errno.failure(link, address);
      }
      return Optional.of(new Link(core, link));
    } finally {
      core.exit();
    }
  }

  /** The peer, for people: "address (program 1234 on host)". */
  public String peer() {
    return peer;
  }

  /** A number that tells links apart, for as long as a reference to one of them is held. */
  public long id() {
    return handle.pointer;
  }

  /** Name of the transport: shm, verbs, ... */
  public String transport() {
    return transport;
  }

  /**
   * Opens a stream to a service of the peer; costs no round trip. If there is no such service, later calls on the
   * stream throw {@link NoSuchServiceException}.
   *
   * @throws EngineClosedException if the link was closed because it was idle: connect again
   */
  public EngineStream open(String service) throws IOException {
    Objects.requireNonNull(service);
    long link = enter();
    try {
      long stream = Native.streamOpen(link, service);
      if (stream < 0) {
        throw Errno.failure(stream, peer);
      }
      return new EngineStream(core, stream);
    } finally {
      exit();
    }
  }

  /** Asks for all of a block. See {@link #fetch(FetchParams, EventQueue, FetchListener)}. */
  public Fetch fetch(String service, byte[] name, EventQueue queue, FetchListener listener) throws IOException {
    return fetch(new FetchParams(service, name), queue, listener);
  }

  /**
   * Asks for a block. The listener is called exactly once, by the thread that polls the queue (or closes it).
   *
   * @throws EngineException with EAGAIN: {@code hadoop.rdma.fetch.max} requests are under way on the link
   * @throws EngineClosedException if the link was closed because it was idle: connect again
   */
  public Fetch fetch(FetchParams params, EventQueue queue, FetchListener listener) throws IOException {
    long link = enter();
    try {
      return Fetch.start(link, peer, params, queue, listener);
    } finally {
      exit();
    }
  }

  /** Throws what ended the link, if it has ended. */
  public void check() throws IOException {
    long link = enter();
    try {
      int status = Native.linkStatus(link);
      if (status < 0) {
        throw Errno.failure(status, peer);
      }
    } finally {
      exit();
    }
  }

  /** Whether the link is up; {@link #check()} has the cause if not. */
  public boolean isUp() {
    if (!handle.enter()) {
      return false;
    }
    try {
      return Native.linkStatus(handle.pointer) == 0;
    } finally {
      exit();
    }
  }

  /** Ends the link itself at once, for everybody: what runs on it fails here and at the peer. */
  public void disconnect() throws IOException {
    long link = enter();
    try {
      Native.linkClose(link);
    } finally {
      exit();
    }
  }

  /** Gives the reference up; a second call has no effect. */
  @Override
  public void close() {
    handle.close(this);
  }

  private long enter() throws EngineClosedException {
    if (!handle.enter()) {
      throw new EngineClosedException("this reference to the link to " + peer + " was closed");
    }
    return handle.pointer;
  }

  private void exit() {
    handle.exit();
  }

  @Override
  public String toString() {
    return peer + " over " + transport;
  }
}
