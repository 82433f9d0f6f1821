package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.engine.EngineStream;
import io.howdah.engine.Link;
import io.howdah.engine.RegisteredBuffer;
import io.howdah.upgrade.Attempt;
import io.howdah.upgrade.Linked;
import io.howdah.upgrade.Traffic;
import io.howdah.upgrade.Upgrade;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapred.ShuffleWire;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.jboss.netty.handler.codec.http.QueryStringDecoder;

/**
 * The connection of stock's Fetcher, over the engine if the NodeManager takes it there, and else the ordinary one. So
 * whatever Fetcher does about errors, retries, penalties and proofs is stock's code. One thread uses it; any may
 * disconnect.
 */
final class RdmaShuffleConnection extends HttpURLConnection {
  private final Upgrade upgrade;
  private final int windowBytes;
  private final int ahead;
  private final SharedReads reads;
  /** What stands in for this one after a fallback. */
  private volatile HttpURLConnection plain;
  private volatile EngineStream stream;
  private volatile PartWindows windows;
  private volatile SharedParts shared;
  private volatile boolean disconnected;
  private Link link;
  private ShuffleWire.Answer answer;
  private CountedInputStream input;
  private String transport = Traffic.SOCKET;

  /** @param reads for outputs that are read from their files; null if none are */
  RdmaShuffleConnection(URL url, Upgrade upgrade, int windowBytes, int ahead, SharedReads reads) {
    super(url);
    this.upgrade = upgrade;
    this.windowBytes = windowBytes;
    this.ahead = ahead;
    this.reads = reads;
  }

  // Connecting.

  @Override
  public void connect() throws IOException {
    if (connected) {
      return;
    }
    Attempt attempt = upgrade.connector().attempt(new InetSocketAddress(url.getHost(), url.getPort()));
    if (link(attempt)) {
      try {
        ask(attempt.linked());
        connected = true;
        return;
      } catch (IOException e) { // no such service, a link that was lost, no memory: a socket serves
        release();
        if (disconnected || e instanceof SocketTimeoutException) {
          throw e;
        }
        attempt.linked().forget();
        attempt.refuse(e.getMessage());
      } catch (RuntimeException e) {
        release();
        throw e;
      }
    }
    connectPlainly();
  }

  private boolean link(Attempt attempt) throws IOException {
    if (attempt.reuse()) {
      return true;
    }
    for (;;) {
      SocketChannel socket = SocketChannel.open();
      Attempt.Step step;
      try {
        socket.socket().connect(new InetSocketAddress(url.getHost(), url.getPort()), getConnectTimeout());
        step = attempt.upgrade(socket, getConnectTimeout());
      } finally {
        socket.close(); // an HTTP client makes its own
      }
      if (step != Attempt.Step.AGAIN) {
        return step == Attempt.Step.LINKED;
      }
    }
  }

  private void connectPlainly() throws IOException {
    HttpURLConnection http = (HttpURLConnection) url.openConnection();
    for (Map.Entry<String, List<String>> property : getRequestProperties().entrySet()) {
      property.getValue().forEach(value -> http.addRequestProperty(property.getKey(), value));
    }
    http.setReadTimeout(getReadTimeout());
    http.setConnectTimeout(getConnectTimeout());
    http.connect();
    plain = http;
    connected = true;
    if (disconnected) {
      http.disconnect();
    }
  }

  /** Sends the request and waits for the answer. */
  private void ask(Linked linked) throws IOException {
    stream = linked.stream();
    transport = linked.transport();
    link = stream.link();
    if (disconnected) {
      throw new IOException("the connection was closed");
    }
    stream.interruptible(false).writeTimeout(getReadTimeout());
    stream.send(new ShuffleWire.Request(url.getFile(), getRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH),
        reads != null && reads.areWanted()).encode());
    int maps = maps().length;
    RegisteredBuffer message = await();
    try {
      byte[] copy = new byte[message.length()];
      message.buffer().get(copy);
      answer = ShuffleWire.Answer.decode(ByteBuffer.wrap(copy), maps);
    } catch (IllegalArgumentException e) {
      throw new IOException(link.peer() + " gave " + e.getMessage(), e);
    } finally {
      message.release();
    }
    if (answer.status == ShuffleWire.BUSY) {
      throw new IOException(answer.text);
    }
    if (!answer.isGranted()) {
      release();
      return;
    }
    windows = new PartWindows(upgrade.engine().newQueue(), link, linked.service(), answer, windowBytes, ahead,
        getReadTimeout());
  }

  private RegisteredBuffer await() throws IOException {
    long millis = getReadTimeout();
    RegisteredBuffer message = stream.awaitMessage(millis > 0 ? TimeUnit.MILLISECONDS.toNanos(millis) : -1);
    if (message != null) {
      return message;
    }
    if (stream.isEnded()) {
      throw new EOFException(link.peer() + " closed the stream");
    }
    throw disconnected || Thread.currentThread().isInterrupted() ? new IOException("the connection was closed")
        : new SocketTimeoutException(link.peer() + " has not answered for " + millis + " ms");
  }

  private String[] maps() {
    return parameter("map").split(",");
  }

  private String parameter(String name) {
    return new QueryStringDecoder(url.getFile()).getParameters().get(name).get(0);
  }

  // What is asked of an answer.

  @Override
  public int getResponseCode() throws IOException {
    connect();
    return plain != null ? plain.getResponseCode() : answer.status;
  }

  @Override
  public String getResponseMessage() throws IOException {
    connect();
    return plain != null ? plain.getResponseMessage() : answer.text;
  }

  @Override
  public String getHeaderField(String name) {
    if (plain != null) {
      return plain.getHeaderField(name);
    }
    if (answer == null || !answer.isGranted()) {
      return null;
    }
    switch (name) {
      case ShuffleHeader.HTTP_HEADER_NAME:
        return ShuffleHeader.DEFAULT_HTTP_HEADER_NAME;
      case ShuffleHeader.HTTP_HEADER_VERSION:
        return ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION;
      case SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH:
        return answer.text;
      default:
        return null;
    }
  }

  @Override
  public InputStream getInputStream() throws IOException {
    connect();
    if (plain == null && !answer.isGranted()) {
      throw new IOException(link.peer() + " refused: " + answer.status + " " + answer.text);
    }
    if (input == null) {
      Traffic traffic = Traffic.of("shuffle.read", transport());
      traffic.call(0);
      input = new CountedInputStream(plain != null ? plain.getInputStream() : parts(), traffic, this::sharedBytes);
    }
    return input;
  }

  /** Called when the answer's proof has been checked: before that, no file is looked for. */
  private InputStream parts() {
    String[] maps = maps();
    if (reads != null && answer.locations.length > 0) {
      shared = new SharedParts(reads, maps, answer);
      for (int i = 0; i < maps.length; i++) {
        if (shared.has(i)) {
          windows.leaveOut(i);
        }
      }
    }
    return new PartsInputStream(maps, Integer.parseInt(parameter("reduce")), answer, windows, shared, this::release);
  }

  // Ranges of parts, for a merge that fetches them while it reads.

  /** Whether parts come over the engine, so that a range of one can be fetched later. */
  boolean isOverEngine() {
    return plain == null && windows != null;
  }

  /** Of a map's part only the first bytes will be read; the rest is skipped. */
  void limit(String map, long bytes) {
    windows.limit(Arrays.asList(maps()).indexOf(map), bytes);
  }

  /**
   * Connects, proves the job's secret and checks the answer's proof, as stock's Fetcher does.
   *
   * @return the parts' lengths, in the order of the request's maps; null if the engine is not used
   * @throws IOException if the secret is refused or the answer is not proved
   */
  long[] prove(SecretKey secret, int connectMillis, int readMillis) throws IOException {
    String hash = SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), secret);
    addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, hash);
    setConnectTimeout(connectMillis);
    setReadTimeout(readMillis);
    connect();
    if (plain != null) {
      plain.disconnect();
      return null;
    }
    if (!answer.isGranted()) {
      throw new IOException(url.getHost() + " refused: " + answer.status + " " + answer.text);
    }
    SecureShuffleUtils.verifyReply(answer.text, hash, secret);
    return answer.parts.clone();
  }

  /** After {@link #prove}: fetches a range of a part, for {@link #take}. @param map the number in the request */
  void fetch(int map, long offset, int length) {
    windows.add(map, offset, length);
  }

  /** The bytes of the next range. */
  byte[] take() throws IOException {
    PartWindows reading = windows;
    if (reading == null) {
      throw new IOException("the connection was closed");
    }
    byte[] bytes = reading.take();
    Traffic.of("shuffle.read", transport).bytes(bytes.length);
    return bytes;
  }

  /** Transport that the connection goes over, {@link Traffic#SOCKET} for a socket. */
  String transport() {
    return plain != null ? Traffic.SOCKET : transport;
  }

  /** Bytes that came over the transport. */
  long bytes() {
    return input == null ? 0 : input.count();
  }

  /** Bytes that were read from maps' files. */
  long sharedBytes() {
    return shared == null ? 0 : shared.count();
  }

  // The end.

  /** Gives back what the engine holds for it, by the thread that uses it. A second call has no effect. */
  void release() {
    if (windows != null) {
      windows.close();
      windows = null;
    }
    if (shared != null) {
      shared.close();
    }
    try {
      if (stream != null) {
        stream.close();
      }
    } catch (IOException e) {
      upgrade.component().log().debug("closing a stream", e);
    }
    if (link != null) {
      link.close();
    }
  }

  /** Ends what another thread waits for. */
  @Override
  public void disconnect() {
    disconnected = true;
    HttpURLConnection http = plain;
    if (http != null) {
      http.disconnect();
      return;
    }
    PartWindows reading = windows;
    if (reading != null) {
      reading.wake();
    }
    SharedParts files = shared;
    if (files != null) {
      files.close();
    }
    EngineStream asking = stream;
    if (asking != null) {
      asking.wakeup();
    }
  }

  @Override
  public boolean usingProxy() {
    return plain != null && plain.usingProxy();
  }
}
