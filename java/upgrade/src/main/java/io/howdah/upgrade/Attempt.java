package io.howdah.upgrade;

import io.howdah.engine.EngineClosedException;
import io.howdah.engine.EngineStream;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import io.howdah.engine.LinkException;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * One connection that a host wants to a server, over as many sockets as it takes. The host connects a socket and
 * calls {@link #upgrade}; on {@link Step#AGAIN} it connects another one and calls it again. This ends: after a
 * refusal the next step is {@link Step#SOCKET}, however short refusals are remembered, and retired links are tried
 * again a few times only.
 *
 * <p>A fallback always leaves a live socket: after a failure in the middle of a greeting, or one that took so long
 * that the server may have given up, the host is asked for a new one. Not thread-safe.
 */
public final class Attempt {
  /** How often a link may be retired while we greet. */
  private static final int GREETINGS = 3;
  /** A client gives up before a server with the same timeout does: after this part of it. */
  private static final double PATIENCE = 0.6;

  /** What to do next. */
  public enum Step {
    /** The connection goes over {@link Attempt#linked}. The socket can be closed. */
    LINKED,
    /** The connection goes over the socket that was given. */
    SOCKET,
    /** The socket was closed: connect another one. */
    AGAIN
  }

  private interface Greeter {
    Greeting greet(long timeoutMillis) throws IOException;
  }

  private final Connector connector;
  private final Upgrade upgrade;
  private final InetSocketAddress server;
  private final String address;
  private boolean plain;
  private int retired;
  private Linked linked;

  Attempt(Connector connector, InetSocketAddress server) {
    this.connector = connector;
    this.upgrade = connector.upgrade();
    this.server = server;
    this.address = server.isUnresolved() ? null : Connector.address(server);
  }

  /** The stream, after {@link Step#LINKED} or a successful {@link #reuse}. */
  public Linked linked() {
    return linked;
  }

  /**
   * Opens a stream on a link that is there already, which costs no round trip.
   *
   * @return false if there is none: connect a socket
   * @throws IOException if the engine is required and can't be used
   */
  public boolean reuse() throws IOException {
    Connector.Known known = address == null ? null : connector.known(address);
    if (known == null || plain || !upgrade.isUsable()) {
      return false;
    }
    try {
      Optional<Link> found = upgrade.engine().findLink(address);
      if (!found.isPresent()) {
        return false;
      }
      open(found.get(), known);
      return true;
    } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) { // greeting says how things are now
      upgrade.component().log().debug("The link to {} can't be used again: {}", server, Failures.text(e));
      return false;
    }
  }

  /**
   * Whether {@link #upgrade} would not greet: the engine is off or can't be used, or the server refused.
   *
   * @throws IOException if the engine is required and can't be used
   */
  public boolean isPlain() throws IOException {
    return plain || address == null || !upgrade.isUsable() || connector.isRefused(server);
  }

  /**
   * Takes a connected socket, on which nothing was sent yet, to the engine if both ends can.
   *
   * @param timeoutMillis longest greeting; 0 for the engine's {@code connect.timeout}
   * @throws IOException if the engine is required and can't be used; the socket is closed then
   */
  public Step upgrade(Socket tcp, long timeoutMillis) throws IOException {
    return upgrade(tcp, (InetSocketAddress) tcp.getLocalSocketAddress(), timeoutMillis,
        limit -> upgrade.engine().connect(tcp, address, limit));
  }

  /** The same for a channel. */
  public Step upgrade(SocketChannel tcp, long timeoutMillis) throws IOException {
    return upgrade(tcp, (InetSocketAddress) tcp.getLocalAddress(), timeoutMillis,
        limit -> upgrade.engine().connect(tcp, address, limit));
  }

  private Step upgrade(Closeable tcp, InetSocketAddress local, long timeoutMillis, Greeter greeter)
      throws IOException {
    try {
      if (isPlain()) {
        return socket();
      }
    } catch (IOException e) {
      close(tcp);
      throw e;
    }
    return greet(tcp, local, patience(timeoutMillis), greeter);
  }

  private Step socket() {
    if (!upgrade.isOff()) {
      upgrade.metrics().clientFellBack();
    }
    upgrade.metrics().clientSocket();
    return Step.SOCKET;
  }

  private long patience(long timeoutMillis) throws IOException {
    long own = upgrade.greetingTimeout();
    long limit = timeoutMillis > 0 ? Math.min(own, timeoutMillis) : own;
    return Math.max(1, (long) (limit * PATIENCE));
  }

  private Step greet(Closeable tcp, InetSocketAddress local, long patience, Greeter greeter) throws IOException {
    long began = System.nanoTime();
    Throwable failure;
    String cause;
    try {
      Greeting greeting = greeter.greet(patience);
      if (greeting.isLinked() && !greeting.service().isEmpty()) {
        Connector.Known known = new Connector.Known(local, greeting.service());
        open(greeting.link(), known);
        connector.learn(address, known);
        upgrade.metrics().clientConnected();
        return Step.LINKED;
      }
      failure = null;
      cause = greeting.isLinked() ? "its process offers nothing on this port" : greeting.reason();
      if (greeting.isLinked()) {
        greeting.link().close();
      } else if (!upgrade.isRequired() && System.nanoTime() - began < TimeUnit.MILLISECONDS.toNanos(patience) / 2) {
        refuse(cause);
        return socket(); // both ends have agreed on it, and the server has not lost its patience
      }
    } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
      failure = e;
      cause = withoutAddress(Failures.text(e));
      if (e instanceof LinkException) { // it hung up
        cause = "it takes no greetings (" + cause + ")";
      }
    }
    close(tcp);
    if (failure instanceof EngineClosedException && ++retired < GREETINGS && upgrade.isUsable()) {
      return Step.AGAIN;
    }
    refuse(cause, failure instanceof SocketTimeoutException);
    return Step.AGAIN;
  }

  /** Causes are counted, so they must not differ by peer. */
  private String withoutAddress(String text) {
    return text.startsWith(address + ": ") ? text.substring(address.length() + 2) : text;
  }

  private void open(Link link, Connector.Known known) throws IOException {
    try {
      EngineStream stream = link.open(known.service);
      linked = new Linked(stream, link.transport(), server, connector, address, known);
    } finally {
      link.close();
    }
  }

  /**
   * The server turned out not to serve this component over the engine: the next connection uses a socket.
   *
   * @throws IOException if the engine is required
   */
  public void refuse(String cause) throws IOException {
    refuse(cause, false);
  }

  private void refuse(String cause, boolean late) throws IOException {
    String name = upgrade.component().subject();
    if (upgrade.isRequired()) {
      String text = name + " with " + server + " has to go over the engine (" + upgrade.origin() + ") and can't: "
          + cause;
      throw late ? new SocketTimeoutException(text) : new IOException(text);
    }
    plain = true;
    linked = null;
    PeerCache.ofThisProcess().refuse(address, upgrade.remember());
    if (!cause.isEmpty()) {
      upgrade.fellBack(server.toString(), name + " with " + server + " goes over a socket", cause);
    }
  }

  private void close(Closeable tcp) {
    try {
      tcp.close();
    } catch (IOException e) {
      upgrade.component().log().debug("closing the socket to {}", server, e);
    }
  }
}
