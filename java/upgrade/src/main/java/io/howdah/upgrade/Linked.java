package io.howdah.upgrade;

import io.howdah.engine.EngineStream;
import java.net.InetSocketAddress;

/** A client's stream, in place of its socket. The caller closes the stream. */
public final class Linked {
  private final EngineStream stream;
  private final String transport;
  private final InetSocketAddress remote;
  private final Connector connector;
  private final String address;
  private final Connector.Known known;

  Linked(EngineStream stream, String transport, InetSocketAddress remote, Connector connector, String address,
      Connector.Known known) {
    this.stream = stream;
    this.transport = transport;
    this.remote = remote;
    this.connector = connector;
    this.address = address;
    this.known = known;
  }

  /** The stream. */
  public EngineStream stream() {
    return stream;
  }

  /** Transport of its link: shm, verbs, ... */
  public String transport() {
    return transport;
  }

  /** The service of the server that the stream is open to. */
  public String service() {
    return known.service;
  }

  /** The server's address, as it was given. */
  public InetSocketAddress remote() {
    return remote;
  }

  /** The client's address, of the socket that the link was made over. */
  public InetSocketAddress local() {
    return known.local;
  }

  /** The server turned out to be another one than the link was made to: the next connection greets anew. */
  public void forget() {
    connector.forget(address, known);
  }
}
