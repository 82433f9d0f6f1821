package io.howdah.bench.rpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;

/**
 * Clients that call as fast as they are answered, each with a thread and a connection of its own. A measured load
 * stops at the first failure; an enduring one compares every answer as a whole, keeps count of what fails and goes
 * on. Thread-safe.
 */
final class Load {
  private static final int MOST_TEXTS = 20;
  /** After a failed call: a server that is not there must not be asked for by a busy loop. */
  private static final long PAUSE_MILLIS = 20;

  private final boolean endure;
  private final InetSocketAddress server;
  private final List<Caller> callers = new ArrayList<>();
  private final Map<String, Long> failures = new TreeMap<>();
  private final AtomicLong unnamed = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private volatile boolean stopping;

  private Load(InetSocketAddress server, boolean endure) {
    this.server = server;
    this.endure = endure;
  }

  /** Starts the clients; each has made a call when this returns, unless the load is to endure. */
  static Load begin(Configuration conf, InetSocketAddress server, DataType type, int size, int clients, boolean endure)
      throws IOException {
    Load load = new Load(server, endure);
    for (int i = 0; i < clients; i++) {
      EchoClient client = new EchoClient(conf, server, type, size, i);
      if (!endure) {
        client.callChecked(i);
      }
      load.callers.add(load.new Caller(client, i));
    }
    load.callers.forEach(Thread::start);
    return load;
  }

  /** Forgets the times measured until now. */
  void clear() {
    callers.forEach(caller -> caller.times.clear());
  }

  /** Adds calls, failed, unnamed, wrong and oldestMillis, the age of the call that has been on its way the longest. */
  void addTo(Map<String, Object> stats) {
    long now = System.nanoTime();
    long calls = 0;
    long failed = 0;
    long oldest = 0;
    for (Caller caller : callers) {
      calls += caller.calls;
      failed += caller.failed;
      long since = caller.since;
      oldest = Math.max(oldest, since == 0 ? 0 : now - since);
    }
    stats.put("calls", calls);
    stats.put("failed", failed);
    stats.put("unnamed", unnamed.get());
    stats.put("wrong", wrong.get());
    stats.put("oldestMillis", oldest / 1000000);
  }

  /** Lets each client end its call; gives the times, the counts, and the failures by text. */
  Map<String, Object> end(long patienceMillis) throws InterruptedException {
    stopping = true;
    long until = System.nanoTime() + patienceMillis * 1000000;
    long hung = 0;
    List<Histogram> times = new ArrayList<>();
    for (Caller caller : callers) {
      caller.join(Math.max(1, (until - System.nanoTime()) / 1000000));
      hung += caller.isAlive() ? 1 : 0;
      times.add(caller.times);
    }
    Map<String, Object> result = new LinkedHashMap<>(Histogram.summary(times));
    addTo(result);
    result.put("hung", hung);
    synchronized (failures) {
      result.put("failures", new TreeMap<>(failures));
    }
    return result;
  }

  /** A failure and its causes in one line. */
  static String chain(Throwable failure) {
    StringBuilder chain = new StringBuilder();
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      chain.append(chain.length() > 0 ? "; caused by " : "").append(cause);
    }
    return chain.toString().replaceAll("\\s+", " ");
  }

  private void failed(Throwable failure) {
    String text = chain(failure);
    if (failure instanceof EchoClient.WrongAnswerException) {
      wrong.incrementAndGet();
    }
    // Whoever reads the failure must learn which server it was: its name or address, and its port.
    boolean host = text.contains(server.getHostName()) || text.contains(server.getAddress().getHostAddress());
    boolean named = host && text.contains(":" + server.getPort());
    unnamed.addAndGet(named ? 0 : 1);
    String shown = (named ? "" : "[no host named] ") + text;
    synchronized (failures) {
      if (failures.size() < MOST_TEXTS || failures.containsKey(shown)) {
        failures.merge(shown, 1L, Long::sum);
      }
    }
  }

  private final class Caller extends Thread {
    private final EchoClient client;
    private final long seed;
    private final Histogram times = new Histogram();
    private volatile long calls;
    private volatile long failed;
    private volatile long since;

    Caller(EchoClient client, int number) {
      super("caller-" + number);
      setDaemon(true);
      this.client = client;
      seed = (long) number << 40;
    }

    @Override
    public void run() {
      while (!stopping) {
        long start = System.nanoTime();
        since = start;
        try {
          if (endure) {
            client.callChecked(seed + calls);
          } else {
            client.call();
          }
          times.add(System.nanoTime() - start);
          calls++;
        } catch (IOException | RuntimeException e) {
          failed++;
          failed(e);
          if (!endure || !pause()) {
            break;
          }
        } finally {
          since = 0;
        }
      }
      client.close();
    }

    private boolean pause() {
      try {
        Thread.sleep(PAUSE_MILLIS);
        return true;
      } catch (InterruptedException e) {
        return false;
      }
    }
  }
}
