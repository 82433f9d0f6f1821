package io.howdah.engine;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.spi.AbstractInterruptibleChannel;

/**
 * A stream to a service of a peer, ordered and reliable, in both directions. It is a channel of bytes, and the same
 * bytes are messages for those who want borders; both may be mixed. One thread may read while another writes.
 *
 * <p>As with every interruptible channel of Java, interrupting a thread that waits in it closes it
 * (ClosedByInterruptException), and closing it throws everybody out (AsynchronousCloseException). Timeouts are a
 * socket's: SocketTimeoutException, and the stream goes on. A lost peer is a {@link LinkException} that names it; what
 * had arrived whole can be read before that.
 *
 * <p>Direct buffers are read and written in place. Others are copied through 64 KB of direct memory of the thread.
 * Every write makes at least one message, so wrap {@link #output()} into a buffer.
 */
public final class EngineStream extends AbstractInterruptibleChannel implements ByteChannel, GatheringByteChannel {
  private static final int READ = 0;
  private static final int WRITE = 1;
  private static final int RECV = 2;
  private static final int SEND = 3;
  private static final int PIECE = 1 << 30;

  private final EngineCore core;
  private final Handle handle;
  private volatile boolean blocking = true;
  private volatile int readTimeout;
  private volatile int writeTimeout;
  private volatile boolean ended;
  private volatile boolean interruptible = true;
  private volatile Object attachment;
  private String peer;
  private EventQueue queue;
  private long id;
  private Protocol protocol = Protocol.DEFAULT;
  private boolean deferred;
  private InputStream input;
  private OutputStream output;
  private Interruption interruption;

  /** Lets an interrupt end a wait without closing the stream; java.nio offers that to channels only. Used up by one. */
  private final class Interruption extends AbstractInterruptibleChannel {
    void enter() {
      begin();
    }

    /** @return whether the thread was interrupted */
    boolean leave() {
      try {
        end(true);
        return false;
      } catch (AsynchronousCloseException e) {
        return true;
      }
    }

    @Override
    protected void implCloseChannel() {
      wakeup();
    }
  }

  EngineStream(EngineCore core, long pointer) {
    this.core = core;
    this.handle = new Handle(this, Handle.Kind.STREAM, pointer);
  }

  // Settings.

  /** Whether calls wait (they do at first) or return 0 or null instead. */
  public EngineStream configureBlocking(boolean waits) {
    blocking = waits;
    return this;
  }

  public boolean isBlocking() {
    return blocking;
  }

  /**
   * Whether interrupting a thread that is in a call closes the stream, as it does at first. If not, interrupts have no
   * effect on calls other than {@link #await}: for a stream that several threads share.
   */
  public EngineStream interruptible(boolean closes) {
    interruptible = closes;
    return this;
  }

  /** Longest wait for something to read, in milliseconds; 0, the default, for ever. */
  public EngineStream readTimeout(int millis) {
    Errno.nanos(millis);
    readTimeout = millis;
    return this;
  }

  /** Longest wait of one write or send for room, in milliseconds; 0, the default, for ever. */
  public EngineStream writeTimeout(int millis) {
    Errno.nanos(millis);
    writeTimeout = millis;
    return this;
  }

  /** How large messages of this side move. */
  public synchronized EngineStream protocol(Protocol wish) throws IOException {
    protocol = wish;
    configure();
    return this;
  }

  /**
   * Whether large messages between processes of one host stay in the sender's memory until reads copy their bytes to
   * where they are wanted, once instead of twice; {@link #isOffered} tells. For readers that come soon: a sender that
   * goes meanwhile takes them along. Messages that came before stay as they are.
   */
  public synchronized EngineStream deferred(boolean stay) throws IOException {
    deferred = stay;
    configure();
    return this;
  }

  /**
   * Has the queue report when there is something to read, and room to write after a refusal. The first report may come
   * at once, the next ones only after a read or receive that did not wait found nothing, or a write no room.
   *
   * @param object given back by {@link #attachment()}
   */
  public synchronized EngineStream register(EventQueue events, Object object) throws IOException {
    attachment = object;
    if (queue != events) {
      unregister();
      queue = events;
      id = events.add(this);
    }
    try {
      configure();
    } catch (IOException e) {
      unregister();
      throw e;
    }
    return this;
  }

  private void configure() throws IOException {
    enter();
    try {
      long events = queue == null ? 0 : queue.enter();
      try {
        int err = Native.streamConfigure(handle.pointer, events, id, protocol.ordinal(), deferred);
        if (err < 0) {
          throw Errno.failure(err, null);
        }
      } finally {
        if (queue != null) {
          queue.exit();
        }
      }
    } finally {
      handle.exit();
    }
  }

  private void unregister() {
    if (queue != null) {
      queue.remove(id);
      queue = null;
      id = 0;
    }
  }

  /** What was given with {@link #register}, or null. */
  public Object attachment() {
    return attachment;
  }

  /** The peer, for people. */
  public synchronized String peer() throws IOException {
    if (peer == null) {
      try (Link link = link()) {
        peer = link.peer();
      }
    }
    return peer;
  }

  /** Name of the transport of the link that carries the stream: shm, verbs, ... */
  public String transport() throws IOException {
    try (Link link = link()) {
      return link.transport();
    }
  }

  /** A new reference to the link that carries the stream; the caller closes it. */
  public Link link() throws IOException {
    enter();
    try {
      return new Link(core, Native.linkOf(handle.pointer, 0));
    } finally {
      handle.exit();
    }
  }

  // Bytes.

  /** Reads what there is, at least a byte. @return the number, 0 if nothing is there and the stream does not block, or
   *     -1 at the end */
  @Override
  public int read(ByteBuffer to) throws IOException {
    if (to.isReadOnly()) {
      throw new IllegalArgumentException("a read-only buffer");
    }
    if (!to.hasRemaining()) {
      return 0;
    }
    if (to.isDirect()) {
      int n = readAt(Memory.address(to) + to.position(), to.remaining());
      to.position(to.position() + Math.max(0, n));
      return n;
    }
    ByteBuffer scratch = Memory.scratch();
    int n = readAt(Memory.address(scratch), Math.min(to.remaining(), scratch.capacity()));
    scratch.limit(Math.max(0, n));
    to.put(scratch);
    return n;
  }

  /** As {@link #read(ByteBuffer)}, into memory that the caller keeps. */
  int readAt(long address, int length) throws IOException {
    int n = (int) perform(READ, address, 0, length, blocking ? Errno.nanos(readTimeout) : 0);
    return n == 0 ? end() : n == -Errno.EAGAIN ? 0 : n;
  }

  private int end() {
    ended = true;
    return -1;
  }

  /**
   * Reads as {@link #read} does, waiting for the first byte for a limited time. An interrupt ends the wait and leaves
   * the status set; {@link #wakeup} ends it too, or the next one. Neither closes the stream, and nothing is lost. One
   * thread at a time.
   *
   * @param to a direct buffer
   * @param nanos longest wait; negative waits for ever
   * @return the number of bytes, 0 if none came, or -1 at the end
   */
  public int await(ByteBuffer to, long nanos) throws IOException {
    if (!to.isDirect() || !to.hasRemaining()) {
      throw new IllegalArgumentException("room in a direct buffer is needed");
    }
    int n = (int) await(READ, Memory.address(to) + to.position(), to.remaining(), nanos);
    if (n < 0) {
      return 0;
    }
    to.position(to.position() + n);
    return n == 0 ? end() : n;
  }

  /**
   * Takes the next message as {@link #receive()} does, waiting as {@link #await} does.
   *
   * @param nanos longest wait; negative waits for ever
   * @return null if none came, or at the end of the stream; {@link #isEnded()} tells
   */
  public RegisteredBuffer awaitMessage(long nanos) throws IOException {
    ByteBuffer out = Memory.scratch();
    long message = await(RECV, Memory.address(out), 0, nanos);
    if (message == 0) {
      end();
    }
    return message <= 0 ? null : new RegisteredBuffer(message, out.getLong(0), out.getLong(Long.BYTES));
  }

  /** @return what the operation does, or something negative if the wait ended without it */
  private long await(int operation, long what, int length, long nanos) throws IOException {
    enter();
    long n;
    String cause = null;
    try {
      n = nanos == 0 ? invoke(operation, what, 0, length, 0)
          : awaitInterruptibly(operation, what, length, nanos < 0 ? Native.FOREVER : nanos);
      if (n < 0 && !isNothing(n)) {
        cause = Native.lastError();
      }
    } finally {
      handle.exit();
    }
    if (n == -Errno.EINTR && !handle.isOpen()) {
      throw new AsynchronousCloseException();
    }
    if (n < 0 && !isNothing(n)) {
      throw Errno.exception((int) n, cause, peer());
    }
    return n;
  }

  /** A wait that ended without a byte; it has no cause to be fetched, which would make a string each time. */
  private static boolean isNothing(long n) {
    return n == -Errno.EAGAIN || n == -Errno.EINTR || n == -Errno.ETIMEDOUT;
  }

  private long awaitInterruptibly(int operation, long what, int length, long timeout) {
    if (interruption == null) {
      interruption = new Interruption();
    }
    interruption.enter();
    try {
      return invoke(operation, what, 0, length, timeout);
    } finally {
      if (interruption.leave()) {
        interruption = null;
      }
    }
  }

  /** Makes the current or the next {@link #await} return. */
  public void wakeup() {
    if (handle.enter()) {
      try {
        Native.streamWake(handle.pointer);
      } finally {
        handle.exit();
      }
    }
  }

  /** Bytes that can be read without waiting. */
  public int available() throws IOException {
    enter();
    try {
      return (int) Math.min(Integer.MAX_VALUE, Native.available(handle.pointer));
    } finally {
      handle.exit();
    }
  }

  /**
   * Reads what is there into an array, in one copy even if the sender has it yet (see {@link #deferred}). Never waits.
   *
   * @return the number of bytes, 0 if nothing is there, or -1 at the end
   */
  public int tryRead(byte[] to, int offset, int length) throws IOException {
    if (offset < 0 || length < 1 || length > to.length - offset) {
      throw new IndexOutOfBoundsException(offset + " and " + length + " of " + to.length);
    }
    enter();
    int n;
    String cause = null;
    try {
      n = Native.readArray(handle.pointer, to, offset, length);
      if (n < 0 && !isNothing(n)) {
        cause = Native.lastError();
      }
    } finally {
      handle.exit();
    }
    if (n < 0 && !isNothing(n)) {
      throw Errno.exception(n, cause, peer());
    }
    return n == 0 ? end() : Math.max(0, n);
  }

  /**
   * Whether the next message is in the sender's memory yet (see {@link #deferred}): reading is the better way to take
   * it then, while a receive moves it first and finds none without waiting.
   */
  public boolean isOffered() throws IOException {
    enter();
    try {
      return Native.offered(handle.pointer) > 0;
    } finally {
      handle.exit();
    }
  }

  /**
   * Writes all bytes, or in non-blocking mode as many as there is room for.
   *
   * @throws SocketTimeoutException with {@code bytesTransferred}; the position is behind these
   */
  @Override
  public int write(ByteBuffer from) throws IOException {
    int start = from.position();
    while (from.hasRemaining()) {
      int wished = Math.min(from.remaining(), from.isDirect() ? PIECE : Memory.SCRATCH);
      int n = writeSome(from, wished, from.position() - start);
      from.position(from.position() + n);
      if (n < wished && !blocking) {
        break;
      }
    }
    return from.position() - start;
  }

  private int writeSome(ByteBuffer from, int length, int before) throws IOException {
    if (from.isDirect()) {
      return writeAt(Memory.address(from) + from.position(), length, before);
    }
    ByteBuffer scratch = Memory.scratch();
    ByteBuffer piece = from.duplicate();
    piece.limit(piece.position() + length);
    scratch.put(piece);
    return writeAt(Memory.address(scratch), length, before);
  }

  /** Writes up to `length` bytes; `before` were written by the same call already. */
  int writeAt(long address, int length, int before) throws IOException {
    long n;
    try {
      n = perform(WRITE, address, 0, length, blocking ? Errno.nanos(writeTimeout) : 0);
    } catch (SocketTimeoutException e) {
      e.bytesTransferred = before;
      throw e;
    }
    return n == -Errno.EAGAIN ? 0 : (int) n;
  }

  /** Writes the buffers one after the other. Small ones travel together, as one message. */
  @Override
  public long write(ByteBuffer[] from, int offset, int count) throws IOException {
    if (offset < 0 || count < 0 || count > from.length - offset) {
      throw new IndexOutOfBoundsException(offset + " and " + count + " of " + from.length);
    }
    long total = 0;
    for (int i = offset; i < offset + count; i++) {
      total += from[i].remaining();
    }
    return total <= Memory.SCRATCH ? writeTogether(from, offset, count, (int) total) : writeApart(from, offset, count);
  }

  @Override
  public long write(ByteBuffer[] from) throws IOException {
    return write(from, 0, from.length);
  }

  private long writeTogether(ByteBuffer[] from, int offset, int count, int total) throws IOException {
    if (total == 0) {
      return 0;
    }
    ByteBuffer scratch = Memory.scratch();
    for (int i = offset; i < offset + count; i++) {
      scratch.put(from[i].duplicate());
    }
    int written = 0;
    do {
      int n = writeAt(Memory.address(scratch) + written, total - written, written);
      advance(from, offset, n);
      written += n;
    } while (written < total && blocking);
    return written;
  }

  private static void advance(ByteBuffer[] from, int offset, int bytes) {
    int left = bytes;
    for (int i = offset; left > 0; i++) {
      int n = Math.min(left, from[i].remaining());
      from[i].position(from[i].position() + n);
      left -= n;
    }
  }

  private long writeApart(ByteBuffer[] from, int offset, int count) throws IOException {
    long written = 0;
    for (int i = offset; i < offset + count; i++) {
      written += write(from[i]);
      if (from[i].hasRemaining()) {
        break;
      }
    }
    return written;
  }

  // Messages.

  /**
   * Takes the next message, or what reads have left of it, without copying. The caller releases it.
   *
   * @return null at the end of the stream, and in non-blocking mode if there is nothing; {@link #isEnded()} tells
   */
  public RegisteredBuffer receive() throws IOException {
    return receive(blocking ? Errno.nanos(readTimeout) : 0);
  }

  /**
   * Takes the next message if it is there already, whatever the mode: for one thread that polls while others write and
   * wait.
   *
   * @return null if there is none now or ever again; {@link #isEnded()} tells
   */
  public RegisteredBuffer tryReceive() throws IOException {
    return receive(0);
  }

  private RegisteredBuffer receive(long timeout) throws IOException {
    ByteBuffer out = Memory.scratch();
    long message = perform(RECV, Memory.address(out), 0, 0, timeout);
    if (message == 0) {
      end();
    }
    return message <= 0 ? null : new RegisteredBuffer(message, out.getLong(0), out.getLong(Long.BYTES));
  }

  /** Whether the peer's end of the stream was reached by a read or receive. */
  public boolean isEnded() {
    return ended;
  }

  /**
   * Sends a part of a buffer as one message, without copying large ones.
   *
   * @return false if there is no room and the stream does not block
   */
  public boolean send(RegisteredBuffer message, int offset, int length) throws IOException {
    return send(message, offset, length, blocking ? Errno.nanos(writeTimeout) : 0);
  }

  /** The same without waiting, whatever the mode. @return false if there is no room */
  public boolean trySend(RegisteredBuffer message, int offset, int length) throws IOException {
    return send(message, offset, length, 0);
  }

  private boolean send(RegisteredBuffer message, int offset, int length, long timeout) throws IOException {
    if (offset < 0 || length < 0 || length > message.length() - offset) {
      throw new IndexOutOfBoundsException(offset + " and " + length + " of " + message.length());
    }
    long buffer = message.enter();
    try {
      return perform(SEND, buffer, offset, length, timeout) == 0;
    } finally {
      message.exit();
    }
  }

  /**
   * Sends the bytes as one message; none are sent and the position stays if it can't be.
   *
   * @return false if there is no room and the stream does not block
   */
  public boolean send(ByteBuffer message) throws IOException {
    int length = message.remaining();
    boolean sent;
    if (message.isDirect() || length <= Memory.SCRATCH) {
      sent = sendCopy(message, length);
    } else {
      try (RegisteredBuffer copy = RegisteredBuffer.allocate(core, length)) {
        copy.buffer().put(message.duplicate());
        sent = send(copy, 0, length);
      }
    }
    if (sent) {
      message.position(message.limit());
    }
    return sent;
  }

  private boolean sendCopy(ByteBuffer message, int length) throws IOException {
    ByteBuffer from = message;
    if (!message.isDirect()) {
      from = Memory.scratch();
      from.put(message.duplicate()).flip();
    }
    long address = Memory.address(from) + from.position();
    return perform(SEND, address, -1, length, blocking ? Errno.nanos(writeTimeout) : 0) == 0;
  }

  // The way into the engine.

  /** One call. @return its result, of the errors only -EAGAIN */
  private long perform(int operation, long what, int offset, int length, long timeout) throws IOException {
    for (;;) {
      enter();
      try {
        long result = once(operation, what, offset, length, timeout);
        if (result != -Errno.EINTR) { // else woken for no reason of ours; being closed shows at the next turn
          return result;
        }
      } finally {
        handle.exit();
      }
    }
  }

  private long once(int operation, long what, int offset, int length, long timeout) throws IOException {
    long result = interruptible ? closingInterruptibly(operation, what, offset, length, timeout)
        : invoke(operation, what, offset, length, timeout);
    if (result < 0 && result != -Errno.EAGAIN && result != -Errno.EINTR) {
      String cause = Native.lastError();
      throw Errno.exception((int) result, cause, result == -Errno.ETIMEDOUT ? null : peer());
    }
    return result;
  }

  private long closingInterruptibly(int operation, long what, int offset, int length, long timeout)
      throws IOException {
    long result = -Errno.EINTR;
    boolean delivered = false;
    begin();
    try {
      try {
        result = invoke(operation, what, offset, length, timeout);
      } finally {
        end(result != -Errno.EINTR);
      }
      delivered = true;
    } finally {
      if (!delivered && operation == RECV && result > 0) {
        Native.bufRelease(result); // the message of somebody who is thrown out
      }
    }
    return result;
  }

  private long invoke(int operation, long what, int offset, int length, long timeout) {
    switch (operation) {
      case READ:
        return Native.read(handle.pointer, what, length, timeout);
      case WRITE:
        return Native.write(handle.pointer, what, length, timeout);
      case RECV:
        return Native.recv(handle.pointer, what, timeout);
      default:
        return offset < 0 ? Native.send(handle.pointer, what, length, timeout)
            : Native.sendBuf(handle.pointer, what, offset, length, timeout);
    }
  }

  private void enter() throws ClosedChannelException {
    if (!handle.enter()) {
      throw new ClosedChannelException();
    }
  }

  // The end.

  /** Says that nothing more will be sent; reading goes on. */
  public void shutdownOutput() throws IOException {
    enter();
    try {
      int err = Native.streamFinish(handle.pointer);
      if (err < 0) {
        throw Errno.failure(err, peer());
      }
    } finally {
      handle.exit();
    }
  }

  @Override
  protected void implCloseChannel() {
    handle.close(this); // wakes whoever waits; the last one to leave frees
    synchronized (this) {
      unregister();
    }
  }

  // As streams.

  /** The bytes to read as an InputStream; closing it closes the stream. Needs blocking mode. */
  public synchronized InputStream input() {
    if (input == null) {
      input = new StreamInput(this);
    }
    return input;
  }

  /** The bytes to write as an OutputStream; closing it closes the stream. Needs blocking mode. */
  public synchronized OutputStream output() {
    if (output == null) {
      output = new StreamOutput(this);
    }
    return output;
  }

  void requireBlocking() {
    if (!blocking) {
      throw new IllegalBlockingModeException();
    }
  }
}
