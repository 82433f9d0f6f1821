package io.howdah.upgrade;

import io.howdah.engine.EngineStream;
import io.howdah.engine.Link;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Brings streams together with the TCP connections that were greeted for them, so that a stream has the address that
 * its client came from. Either may come first. All connections of a link are of one process.
 *
 * <p>Of {@link #oneToOne} each stream takes one connection. Of {@link #byLink} the first connection of a link stands
 * for all of its streams, for as long as the link lives. What waits is bounded in number, for each link and in all,
 * and in time if {@link #purge} is called from time to time. Thread-safe.
 *
 * @param <C> a greeted connection
 */
public final class Pairing<C> implements Closeable {
  private static final int WAITING = 1024;
  private static final int WAITING_OF_LINK = 128;
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);

  /**
   * Takes what was brought together. Called without a lock.
   *
   * @param <C> a greeted connection
   */
  public interface Pairs<C> {
    /** A stream has its connection. It is the callee's now. */
    void paired(EngineStream stream, C connection) throws IOException;

    /** No stream came for a connection in time, or the server stops: close it. */
    void abandoned(C connection, String cause);
  }

  private final Upgrade upgrade;
  private final Pairs<C> pairs;
  private final boolean byLink;
  private final Map<Long, Entry<C>> links = new HashMap<>();
  private int waiting;
  private boolean closed;

  /** Unpaired connections and streams of one link; its number is its own for as long as we hold it. */
  private static final class Entry<C> {
    final Link link;
    final ArrayDeque<C> connections = new ArrayDeque<>();
    final ArrayDeque<EngineStream> streams = new ArrayDeque<>();
    long since = System.nanoTime();

    Entry(Link link) {
      this.link = link;
    }
  }

  private Pairing(Upgrade upgrade, Pairs<C> pairs, boolean byLink) {
    this.upgrade = upgrade;
    this.pairs = pairs;
    this.byLink = byLink;
  }

  /** For servers whose connections stay what they were, but for what they go over. */
  public static <C> Pairing<C> oneToOne(Upgrade upgrade, Pairs<C> pairs) {
    return new Pairing<>(upgrade, pairs, false);
  }

  /** For servers that need to know where a link came from, and nothing else of its connection. */
  public static <C> Pairing<C> byLink(Upgrade upgrade, Pairs<C> pairs) {
    return new Pairing<>(upgrade, pairs, true);
  }

  /** A greeting ended with a link, which is ours now. */
  public void greeted(Link link, C connection) throws IOException {
    List<EngineStream> come = new ArrayList<>();
    boolean refused;
    synchronized (this) {
      refused = closed || !byLink && waiting >= WAITING;
      if (refused) {
        link.close();
      } else {
        Entry<C> entry = entry(link);
        if (byLink) {
          come.addAll(entry.streams);
          entry.streams.clear();
          entry.connections.clear();
          entry.connections.add(connection);
          waiting -= come.size();
        } else if (!entry.streams.isEmpty()) {
          come.add(entry.streams.poll());
          waiting--;
          forgetIfDone(entry);
        } else {
          entry.connections.add(connection);
          entry.since = System.nanoTime();
          waiting++;
        }
      }
    }
    if (refused) {
      pairs.abandoned(connection, "the server stops, or too many connections wait for their streams");
    }
    for (EngineStream stream : come) {
      give(stream, connection);
    }
  }

  /** A stream came. Its connection may still be in the last step of its greeting. */
  public void accepted(EngineStream stream) throws IOException {
    C connection;
    synchronized (this) {
      Link link = stream.link();
      Entry<C> entry = links.get(link.id());
      connection = entry == null ? null : byLink ? entry.connections.peek() : entry.connections.poll();
      if (connection == null) {
        keep(stream, link, entry);
        return;
      }
      link.close();
      if (!byLink) {
        waiting--;
        forgetIfDone(entry);
      }
    }
    give(stream, connection);
  }

  private void keep(EngineStream stream, Link link, Entry<C> known) throws IOException {
    if (closed || waiting >= WAITING || known != null && known.streams.size() >= WAITING_OF_LINK) {
      link.close();
      stream.close();
      return;
    }
    Entry<C> entry = entry(link);
    entry.streams.add(stream);
    entry.since = System.nanoTime();
    waiting++;
  }

  private void give(EngineStream stream, C connection) {
    try {
      pairs.paired(stream, connection);
    } catch (IOException | RuntimeException e) {
      upgrade.component().log().info("A stream was lost before it was served: {}", e.toString());
      close(stream);
    }
  }

  private Entry<C> entry(Link link) {
    Entry<C> entry = links.get(link.id());
    if (entry == null) {
      entry = new Entry<>(link);
      links.put(link.id(), entry);
    } else {
      link.close();
    }
    return entry;
  }

  private void forgetIfDone(Entry<C> entry) {
    if (entry.connections.isEmpty() && entry.streams.isEmpty()) {
      links.remove(entry.link.id());
      entry.link.close();
    }
  }

  /** Whether {@link #purge} has nothing to look through. */
  public synchronized boolean isIdle() {
    return links.isEmpty();
  }

  /** Drops what has waited for too long, and links that have ended. */
  public void purge() {
    drop(false);
  }

  private void drop(boolean all) {
    List<Entry<C>> old = new ArrayList<>();
    synchronized (this) {
      for (Iterator<Entry<C>> i = links.values().iterator(); i.hasNext();) {
        Entry<C> entry = i.next();
        boolean settled = byLink && !entry.connections.isEmpty() && entry.link.isUp();
        if (all || !settled && (System.nanoTime() - entry.since > PATIENCE || !entry.link.isUp())) {
          waiting -= entry.streams.size() + (byLink ? 0 : entry.connections.size());
          i.remove();
          old.add(entry);
        }
      }
    }
    for (Entry<C> entry : old) {
      for (C connection : entry.connections) {
        pairs.abandoned(connection, "no stream came from " + entry.link);
      }
      for (EngineStream stream : entry.streams) {
        upgrade.component().log().info("Closing a stream from {} that no connection was greeted for", entry.link);
        close(stream);
      }
      entry.link.close();
    }
  }

  private void close(EngineStream stream) {
    try {
      stream.close();
    } catch (IOException e) {
      upgrade.component().log().debug("closing {}", stream, e);
    }
  }

  /** Drops everything, now and from now on. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    drop(true);
  }
}
