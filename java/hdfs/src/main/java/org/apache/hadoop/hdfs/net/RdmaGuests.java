package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineStream;
import io.howdah.engine.Link;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.io.IOUtils;

/**
 * Who the links of a DataNode come from. A link is one process's, so the address that it greeted from holds for all of
 * its streams. The first stream may be here before the greeting's last step; then it waits. Thread-safe.
 */
final class RdmaGuests {
  private static final int STREAMS = 1024;
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);

  private final Map<Long, Entry> links = new HashMap<>();
  private int waiting;
  private boolean closed;

  /** A client's address and the one that it came to, as of the sockets that it greeted over. */
  static final class Guest {
    final String remote;
    final String local;

    Guest(String remote, String local) {
      this.remote = remote;
      this.local = local;
    }
  }

  /** A link, whose number is its own as long as we hold it. */
  private static final class Entry {
    final Link link;
    final List<EngineStream> streams = new ArrayList<>();
    final long since = System.nanoTime();
    Guest guest;

    Entry(Link link) {
      this.link = link;
    }
  }

  private Entry entry(Link link) {
    Entry entry = links.get(link.id());
    if (entry == null) {
      entry = new Entry(link);
      links.put(link.id(), entry);
    } else {
      link.close();
    }
    return entry;
  }

  /** A greeting gave a link, which is ours now. @return the streams that waited for it */
  synchronized List<EngineStream> arrive(Link link, Guest guest) {
    if (closed) {
      link.close();
      return Collections.emptyList();
    }
    Entry entry = entry(link);
    entry.guest = guest;
    List<EngineStream> come = new ArrayList<>(entry.streams);
    entry.streams.clear();
    waiting -= come.size();
    return come;
  }

  /** Whom a stream is of; null if it is kept until that is known. */
  synchronized Guest match(EngineStream stream) throws IOException {
    Link link = stream.link();
    Entry known = links.get(link.id());
    if (known != null && known.guest != null) {
      link.close();
      return known.guest;
    }
    if (closed || waiting >= STREAMS) {
      link.close();
      stream.close();
      return null;
    }
    entry(link).streams.add(stream);
    waiting++;
    return null;
  }

  /** Whether there is nothing to look through from time to time. */
  synchronized boolean isIdle() {
    return links.isEmpty();
  }

  /** Forgets links that have ended, and closes streams that nobody greeted for. */
  synchronized void purge() {
    for (Iterator<Entry> i = links.values().iterator(); i.hasNext();) {
      Entry entry = i.next();
      boolean old = entry.guest == null && System.nanoTime() - entry.since > PATIENCE;
      if (old || !entry.link.isUp()) {
        i.remove();
        drop(entry);
      }
    }
  }

  private void drop(Entry entry) {
    for (EngineStream stream : entry.streams) {
      RdmaHdfs.LOG.info("Closing a stream from {} that nobody greeted for", entry.link);
      IOUtils.cleanup(null, stream);
    }
    waiting -= entry.streams.size();
    entry.link.close();
  }

  synchronized void close() {
    closed = true;
    for (Entry entry : links.values()) {
      drop(entry);
    }
    links.clear();
  }
}
