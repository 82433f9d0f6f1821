package org.apache.hadoop.ipc;

import io.howdah.engine.Engine;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.Protocol;
import io.howdah.upgrade.Attempt;
import io.howdah.upgrade.Linked;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Hashtable;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto;
import org.apache.hadoop.util.Time;

/**
 * What Client's connection does differently if it goes over the engine; without, it is the thread that it always was.
 *
 * <p>No thread belongs to the connection then. Callers send for themselves, and one of those who wait leads: it reads
 * responses, for the others too, until its own has come, and leaves the lead to another one. Calls that nobody waits
 * for (asynchronous mode) need the connection's thread; it is started when there is the first, and leads from then on.
 */
abstract class RdmaClientConnection extends Thread {
  /** A connection that is busy when its idle time is over is looked at again after so many milliseconds. */
  private static final int IDLE_STEP = 100;
  private static final RdmaSizes SIZES = new RdmaSizes();
  private static final RdmaArrays RESPONSES = new RdmaArrays();

  /** Whether a connection of this process ever went over the engine. */
  private static volatile boolean overEngine;

  // Client's own, here because both need them.
  final Hashtable<Integer, Client.Call> calls = new Hashtable<>();
  final AtomicLong lastActivity = new AtomicLong();
  final AtomicBoolean shouldCloseConnection = new AtomicBoolean();

  private Upgrade upgrade;
  private Attempt attempt;
  private InetSocketAddress attempted;
  private Engine engine;
  private RdmaSocket stream;
  private Client.ConnectionId connection;
  /** Calls of this connection go the short way. Set when it is set up, under the connection's lock. */
  private volatile boolean fast;
  private volatile boolean firstSent;
  private volatile boolean stopped;

  // Who leads, under `leading`.
  private final Object leading = new Object();
  private final ArrayDeque<Client.Call> followers = new ArrayDeque<>();
  private boolean led;
  private volatile Client.Call heir;
  private volatile boolean threaded;

  /** Closes connections that are idle; parked while there are none. */
  private static final class Idle {
    static final ScheduledThreadPoolExecutor TIMER = timer();

    private Idle() {
    }

    private static ScheduledThreadPoolExecutor timer() {
      ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, work -> {
        Thread thread = new Thread(work, "IPC Client idle connections");
        thread.setDaemon(true);
        return thread;
      });
      timer.setRemoveOnCancelPolicy(true);
      return timer;
    }
  }

  // Client's connection.

  abstract void receiveRpcResponse();

  abstract void markClosed(IOException cause);

  abstract void close();

  // Responses.

  /** What a response of that length is read into, whatever it came over. */
  static ByteBuffer room(int length) {
    return overEngine ? RESPONSES.takeExactly(length) : ByteBuffer.allocate(length);
  }

  /** A response was parsed: nobody looks at its bytes any more. */
  static void giveBack(RpcWritable.Buffer response) throws IOException {
    if (overEngine) {
      RESPONSES.giveBack(response);
    }
  }

  // Setting up.

  /**
   * Takes a connected socket to the engine if both ends can.
   *
   * @return the socket to go on with, or null to connect again
   * @throws IOException if the engine must be used and can't be
   */
  final Socket upgrade(Socket tcp, InetSocketAddress server, Client.ConnectionId id, Configuration conf)
      throws IOException {
    stream = null;
    firstSent = false;
    connection = id;
    if (attempt == null || !server.equals(attempted)) {
      upgrade = RdmaRpc.of(conf);
      attempt = upgrade.connector().attempt(server);
      attempted = server;
    }
    switch (attempt.upgrade(tcp, 0)) {
      case LINKED:
        return open(attempt.linked(), tcp);
      case SOCKET:
        return tcp;
      default:
        return null;
    }
  }

  private Socket open(Linked linked, Socket tcp) throws IOException {
    linked.stream().deferred(true).protocol(bestFor(linked.transport()));
    stream = new RdmaSocket(linked);
    stream.setSoTimeout(tcp.getSoTimeout());
    engine = upgrade.engine();
    overEngine = true;
    IOUtils.closeSocket(tcp); // the engine keeps what it needs of it
    return stream;
  }

  /**
   * How large calls move: through memory that both ends see, the server copies each to where it is wanted; over an
   * adapter we write it, which spares the server a round trip.
   */
  private static Protocol bestFor(String transport) {
    return transport.equals("shm") || transport.equals("self") ? Protocol.READ : Protocol.WRITE;
  }

  /** Whether SASL protects what is sent: then bytes go through its streams, and what they hold is theirs. */
  private boolean isWrapped() {
    String qop = connection.getSaslQop();
    return qop != null && !"auth".equalsIgnoreCase(qop);
  }

  /** The connection is set up. */
  @Override
  public void start() {
    if (stream == null) {
      super.start();
      return;
    }
    fast = true;
    if (isWrapped()) {
      threaded = true;
      super.start();
      return;
    }
    scheduleIdle(stopped ? 0 : connection.getMaxIdleTime());
  }

  // Sending.

  /**
   * Sends a call by the calling thread, if this connection goes over the engine.
   *
   * @return false if the caller is to send it
   */
  final boolean send(Client.Call call, RpcRequestHeaderProto header, Client.IpcStreams streams)
      throws IOException, InterruptedException {
    if (!fast) {
      return false;
    }
    boolean handed = false;
    try {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (Client.isAsynchronousMode()) {
        startThread();
      }
      if (threaded || !firstSent) {
        sendBytes(call, header, streams);
      } else {
        sendMessage(call, header, streams);
      }
      handed = true;
    } finally {
      if (!handed) { // nothing of it was sent, so no response would ever take it out
        calls.remove(call.id);
      }
      closeIfMarked();
    }
    return true;
  }

  private void sendMessage(Client.Call call, RpcRequestHeaderProto header, Client.IpcStreams streams)
      throws IOException, InterruptedException {
    int kind = RdmaSizes.kind(null, call.rpcRequest);
    RdmaBuffer buffer;
    try {
      buffer = RdmaBuffer.start(engine, SIZES.expected(kind));
      buffer.write(header);
      RpcWritable.wrap(call.rpcRequest).writeTo(buffer);
    } catch (MemoryLimitException e) {
      sendBytes(call, header, streams);
      return;
    }
    SIZES.record(kind, buffer.length());
    buffer.finish();
    try {
      stream.send(buffer);
    } catch (IOException e) {
      markClosed(e);
    } finally {
      buffer.done();
    }
  }

  /** As stock Hadoop does it, but by the calling thread. The connection's header goes in front of the first call. */
  private void sendBytes(Client.Call call, RpcRequestHeaderProto header, Client.IpcStreams streams)
      throws IOException {
    ResponseBuffer buffer = new ResponseBuffer();
    header.writeDelimitedTo(buffer);
    RpcWritable.wrap(call.rpcRequest).writeTo(buffer);
    try {
      synchronized (streams.out) {
        if (!shouldCloseConnection.get()) {
          streams.sendRequest(buffer.toByteArray());
          streams.flush();
          firstSent = true;
        }
      }
    } catch (IOException e) {
      markClosed(e); // half a call may be on its way
    }
  }

  // Waiting.

  /** Waits for a call's response if that is the callers' business; the caller looks afterwards whether it came. */
  final void await(Client.Call call, long timeout, TimeUnit unit) {
    if (!fast || threaded) {
      return;
    }
    long until = timeout < 0 ? 0 : deadline(unit.toNanos(timeout));
    if (takeLead(call) || follow(call, until)) {
      try {
        lead(call, until);
      } finally {
        handOver();
      }
    }
    if (!isDone(call) && !threaded) { // interrupted: somebody has to take its response all the same
      Idle.TIMER.execute(this::startThread);
    }
  }

  private static long deadline(long nanos) {
    long at = System.nanoTime() + Math.min(nanos, Long.MAX_VALUE / 4);
    return at == 0 ? 1 : at;
  }

  private boolean takeLead(Client.Call call) {
    synchronized (leading) {
      if (!led) {
        led = true;
        return true;
      }
      followers.add(call);
      return false;
    }
  }

  /** Waits until the call is done or it is its turn to lead. @return whether it leads */
  private boolean follow(Client.Call call, long until) {
    try {
      synchronized (call) {
        while (!call.done && heir != call) {
          long left = until == 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime()) + 1;
          if (until != 0 && left <= 0) {
            break;
          }
          call.wait(left);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (leading) {
      if (heir != call) {
        followers.remove(call);
        return false;
      }
      heir = null;
      return true;
    }
  }

  private void lead(Client.Call call, long until) {
    while (!isDone(call) && !threaded && !Thread.currentThread().isInterrupted()
        && (until == 0 || System.nanoTime() - until < 0) && !shouldCloseConnection.get()) {
      stream.mayLeave(until);
      try {
        receiveRpcResponse();
      } catch (RdmaSocket.Left e) {
        continue; // the conditions above say whether there was a reason
      } catch (RuntimeException e) { // a response for nobody, say; as the connection's thread would
        Client.LOG.warn("Unexpected error reading responses on connection " + this, e);
        markClosed(new IOException("Error reading responses", e));
      } finally {
        stream.mustStay();
      }
    }
    closeIfMarked();
  }

  private static boolean isDone(Client.Call call) {
    synchronized (call) {
      return call.done;
    }
  }

  private void handOver() {
    synchronized (leading) {
      Client.Call next = threaded ? null : followers.poll();
      while (next != null) {
        synchronized (next) {
          if (!next.done) {
            heir = next;
            next.notifyAll();
            return;
          }
        }
        next = followers.poll();
      }
      led = false;
      leading.notifyAll();
    }
  }

  /** From the first call that nobody waits for on, the connection's own thread reads. */
  private void startThread() {
    boolean interrupted = false;
    synchronized (leading) {
      if (threaded) {
        return;
      }
      threaded = true;
      stream.wakeReader();
      while (led) {
        try {
          leading.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      led = true;
    }
    super.start();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // The end.

  private void closeIfMarked() {
    if (shouldCloseConnection.get() && !threaded) {
      close();
    }
  }

  /** Client.stop() interrupts its connections. */
  @Override
  public void interrupt() {
    stopped = true;
    if (!fast || threaded) {
      super.interrupt();
      return;
    }
    stop(calls.isEmpty() ? null : (IOException) new IOException().initCause(new InterruptedException()));
  }

  private void stop(IOException cause) {
    markClosed(cause);
    close();
  }

  private void scheduleIdle(long millis) {
    Idle.TIMER.schedule(this::endIfIdle, Math.max(0, millis), TimeUnit.MILLISECONDS);
  }

  private void endIfIdle() {
    if (threaded || shouldCloseConnection.get()) {
      closeIfMarked();
      return;
    }
    if (stopped) {
      interrupt();
      return;
    }
    long left = connection.getMaxIdleTime() - (Time.now() - lastActivity.get());
    synchronized (this) { // as calls are added
      if (left <= 0 && calls.isEmpty()) {
        markClosed(null);
      }
    }
    if (shouldCloseConnection.get()) {
      close();
    } else {
      scheduleIdle(Math.max(IDLE_STEP, left));
    }
  }
}
