package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Traffic;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import javax.crypto.SecretKey;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;

/**
 * Fetches windows of streams while the merge reads them. Streams of a host are served together, by one thread at a time
 * over one session; windows that the merge waits for come first. A host that fails is asked again, over HTTP if the
 * engine can't be used, until stock's fetch retry timeout is over: then the stream fails, and with it the reduce
 * attempt, since reduce() has seen records of that map attempt already. Thread-safe.
 */
final class StreamRefills implements MapStream.Supply, Closeable {
  /** Most streams of a session, which bounds its request, and of a turn. */
  private static final int SESSION_STREAMS = 400;
  private static final int TURN_STREAMS = 32;
  private static final int LOOK_MILLIS = 1000;
  private static final int READ_MILLIS = 180_000;
  private static final int RETRY_MILLIS = 30_000;

  /** What the reducer does for it. */
  interface Reducer {
    /** A connection over the engine, if that can be used. */
    RdmaShuffleConnection connection(URL url);

    /** Outputs were lost: tell the ApplicationMaster. */
    void lost(List<TaskAttemptID> maps);
  }

  private final Reducer reducer;
  private final Reporter reporter;
  private final SecretKey secret;
  private final int connectMillis;
  private final int readMillis;
  private final int retryMillis;
  private final int pauseMillis;
  private final Map<MapStream, Group> groups = new HashMap<>();
  private final List<Group> all = new ArrayList<>();
  private final AtomicLong waited = new AtomicLong();
  private int working;
  private boolean closed;

  /** Streams of a host, up to a number. */
  private static final class Group {
    final List<MapStream> streams = new ArrayList<>();
    final LinkedHashSet<MapStream> asked = new LinkedHashSet<>();
    final LinkedHashSet<MapStream> urgent = new LinkedHashSet<>();
    boolean busy;
    long notBefore = System.nanoTime();
    /** When it began to fail; 0 if it works. */
    long failing;
    /** Used by the thread that made it busy. */
    RdmaShuffleConnection connection;
    Map<MapStream, Integer> numbers;
  }

  StreamRefills(JobConf job, Reducer reducer, Reporter reporter, SecretKey secret) {
    this.reducer = reducer;
    this.reporter = reporter;
    this.secret = secret;
    connectMillis = job.getInt(MRJobConfig.SHUFFLE_CONNECT_TIMEOUT, READ_MILLIS);
    readMillis = job.getInt(MRJobConfig.SHUFFLE_READ_TIMEOUT, READ_MILLIS);
    retryMillis = job.getInt(MRJobConfig.SHUFFLE_FETCH_RETRY_TIMEOUT_MS, RETRY_MILLIS);
    pauseMillis = job.getInt(MRJobConfig.SHUFFLE_FETCH_RETRY_INTERVAL_MS,
        MRJobConfig.DEFAULT_SHUFFLE_FETCH_RETRY_INTERVAL_MS);
  }

  /** Serves the streams from now on. */
  synchronized void start(Collection<MapStream> streams, int threads) {
    Map<String, Group> open = new HashMap<>();
    for (MapStream stream : streams) {
      Group group = open.get(stream.base());
      if (group == null || group.streams.size() == SESSION_STREAMS) {
        group = new Group();
        open.put(stream.base(), group);
        all.add(group);
      }
      group.streams.add(stream);
      groups.put(stream, group);
    }
    for (int i = Math.min(threads, all.size()); i > 0; i--) {
      Thread thread = new Thread(this::work, "shuffle-refill-" + i);
      thread.setDaemon(true);
      thread.start();
      working++;
    }
  }

  /** Time that the merge has waited for windows, in all. */
  long waitedNanos() {
    return waited.get();
  }

  // What streams ask.

  @Override
  public synchronized void ask(MapStream stream, boolean hurry) {
    Group group = groups.get(stream);
    (hurry ? group.urgent : group.asked).add(stream);
    notifyAll();
  }

  @Override
  public void waiting() {
    reporter.progress();
  }

  @Override
  public void waited(long nanos) {
    waited.addAndGet(nanos);
  }

  // Serving.

  private void work() {
    try {
      for (Group group = take(); group != null; group = take()) {
        try {
          serve(group, turn(group));
        } finally {
          giveBack(group);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Throwable e) { // an Error: nobody would serve the streams
      SharedReads.LOG.error("Fetching map output ends", e);
      fail(e);
    } finally {
      leave();
    }
  }

  private void fail(Throwable cause) {
    List<MapStream> streams;
    synchronized (this) {
      streams = new ArrayList<>(groups.keySet());
    }
    for (MapStream stream : streams) { // their locks come before this one's
      stream.fail(new IOException(cause.toString(), cause));
    }
  }

  /** The last thread closes what is open. */
  private synchronized void leave() {
    if (--working == 0) {
      all.forEach(StreamRefills::disconnect);
    }
  }

  /** A group that is wanted, those first that the merge waits for. @return null at the end */
  private synchronized Group take() throws InterruptedException {
    while (!closed) {
      Group found = null;
      long now = System.nanoTime();
      long least = TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS);
      for (Group group : all) {
        if (group.busy || group.asked.isEmpty() && group.urgent.isEmpty()) {
          continue;
        }
        if (group.notBefore - now > 0) {
          least = Math.min(least, group.notBefore - now);
        } else if (found == null || found.urgent.isEmpty() && !group.urgent.isEmpty()) {
          found = group;
        }
      }
      if (found != null) {
        found.busy = true;
        return found;
      }
      wait(TimeUnit.NANOSECONDS.toMillis(least) + 1);
    }
    return null;
  }

  private synchronized void giveBack(Group group) {
    group.busy = false;
    notifyAll();
  }

  private synchronized List<MapStream> turn(Group group) {
    List<MapStream> turn = new ArrayList<>(group.urgent);
    group.asked.removeAll(group.urgent);
    group.urgent.clear();
    for (MapStream stream : group.asked) {
      if (turn.size() >= TURN_STREAMS) {
        break;
      }
      turn.add(stream);
    }
    group.asked.removeAll(turn);
    return turn;
  }

  private void serve(Group group, List<MapStream> turn) {
    try {
      if (connect(group)) {
        fetch(group, turn);
      } else {
        for (MapStream stream : turn) {
          readPlainly(stream);
          works(group);
        }
      }
    } catch (IOException | RuntimeException e) {
      disconnect(group);
      failed(group, turn, e);
    }
  }

  /** @return false if the engine is not used */
  private boolean connect(Group group) throws IOException {
    if (group.connection != null) {
      return true;
    }
    List<MapStream> streams = group.streams.stream().filter(stream -> !stream.isClosed() && !stream.isComplete())
        .collect(Collectors.toList());
    if (streams.isEmpty()) {
      return true;
    }
    RdmaShuffleConnection made = reducer.connection(new URL(streams.get(0).base() + streams.stream()
        .map(MapStream::toString).collect(Collectors.joining(","))));
    boolean good = false;
    try {
      long[] lengths = made.prove(secret, connectMillis, readMillis);
      Map<MapStream, Integer> numbers = new HashMap<>();
      for (int i = 0; lengths != null && i < lengths.length; i++) {
        checkLength(streams.get(i), lengths[i]);
        numbers.put(streams.get(i), i);
      }
      good = lengths != null;
      group.numbers = numbers;
    } finally {
      if (!good) {
        made.release();
      }
    }
    synchronized (this) {
      group.connection = good ? made : null;
    }
    return good;
  }

  private static void checkLength(MapStream stream, long length) throws IOException {
    if (length != stream.length()) {
      throw new IOException("the output of " + stream + " has " + length + " bytes in place of " + stream.length());
    }
  }

  private void fetch(Group group, List<MapStream> turn) throws IOException {
    List<MapStream> streams = new ArrayList<>();
    List<Long> offsets = new ArrayList<>();
    for (MapStream stream : turn) {
      Integer number = stream.isClosed() || stream.isComplete() ? null : group.numbers.get(stream);
      long end = stream.asked();
      for (long at = stream.arrived(); number != null && at < end; at += stream.windowLength(at, end)) {
        group.connection.fetch(number, at, stream.windowLength(at, end));
        streams.add(stream);
        offsets.add(at);
      }
    }
    String transport = group.connection == null ? "" : group.connection.transport().toUpperCase(Locale.ROOT);
    for (int i = 0; i < streams.size(); i++) {
      byte[] window = group.connection.take();
      streams.get(i).add(offsets.get(i), window);
      reporter.incrCounter(RdmaFetcher.COUNTERS, "BYTES_" + transport, window.length);
      works(group);
    }
  }

  /** Over HTTP a part is sent from its beginning. */
  private void readPlainly(MapStream stream) throws IOException {
    URL url = new URL(stream.base() + stream.map());
    HttpURLConnection http = (HttpURLConnection) url.openConnection();
    String hash = SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), secret);
    http.addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, hash);
    http.addRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
    http.addRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
    http.setConnectTimeout(connectMillis);
    http.setReadTimeout(readMillis);
    try {
      if (http.getResponseCode() != HttpURLConnection.HTTP_OK) {
        throw new IOException(url.getHost() + " refused: " + http.getResponseCode() + " " + http.getResponseMessage());
      }
      String reply = http.getHeaderField(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH);
      SecureShuffleUtils.verifyReply(String.valueOf(reply), hash, secret);
      DataInputStream in = new DataInputStream(http.getInputStream());
      ShuffleHeader header = new ShuffleHeader();
      header.readFields(in);
      if (!header.mapId.equals(stream.map().toString())) {
        throw new IOException(url.getHost() + " sent " + header.mapId + " in place of " + stream);
      }
      checkLength(stream, header.compressedLength);
      IOUtils.skipFully(in, stream.arrived());
      readWindows(stream, in);
    } finally {
      http.disconnect();
    }
  }

  private void readWindows(MapStream stream, DataInputStream in) throws IOException {
    long end = stream.asked();
    for (long at = stream.arrived(); at < end && !stream.isClosed(); at = stream.arrived()) {
      byte[] window = new byte[stream.windowLength(at, end)];
      in.readFully(window);
      stream.add(at, window);
      reporter.incrCounter(RdmaFetcher.COUNTERS, "BYTES_TCP", window.length);
      Traffic.of("shuffle.read", Traffic.SOCKET).bytes(window.length);
    }
  }

  private synchronized void works(Group group) {
    group.failing = 0;
  }

  private void failed(Group group, List<MapStream> turn, Exception cause) {
    List<MapStream> left = turn.stream().filter(MapStream::isWanted).collect(Collectors.toList());
    boolean over;
    synchronized (this) {
      if (closed || left.isEmpty()) {
        return;
      }
      long now = System.nanoTime();
      boolean first = group.failing == 0;
      group.failing = first ? now : group.failing;
      group.notBefore = first ? now : now + TimeUnit.MILLISECONDS.toNanos(pauseMillis);
      group.urgent.addAll(left);
      over = now - group.failing > TimeUnit.MILLISECONDS.toNanos(retryMillis);
    }
    SharedReads.LOG.warn("Fetching map output of {} from {} failed{}", left, left.get(0).base(),
        over ? "" : "; it is tried again", cause);
    if (over) {
      // All of them: the merge may wait for any. It ends the task when it is told, so the ApplicationMaster is first.
      reducer.lost(left.stream().map(MapStream::map).collect(Collectors.toList()));
      left.forEach(lost -> lost.fail(new IOException(lost + " could not be fetched to its end for " + retryMillis
          + " ms after reduce() had begun to read it. This reduce attempt fails; the next one fetches all before it "
          + "merges", cause)));
    }
  }

  private static void disconnect(Group group) {
    if (group.connection != null) {
      group.connection.release();
      group.connection = null;
    }
  }

  /** Ends the threads, and what they wait for. */
  @Override
  public synchronized void close() {
    closed = true;
    for (Group group : all) {
      if (group.busy && group.connection != null) {
        group.connection.disconnect();
      }
    }
    notifyAll();
  }

  /** How many threads have not ended. */
  synchronized int threads() {
    return working;
  }
}
