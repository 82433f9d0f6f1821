package io.howdah.upgrade.netty3;

import io.howdah.upgrade.Acceptor;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Waits for the first bytes of connections that nobody reads yet, and tells by them what each is. One thread for all.
 * A connection that sends nothing costs what it costs its server anyway. Thread-safe.
 */
final class FirstBytes implements Closeable {
  /** So many tell a greeting. */
  private static final int ENOUGH = 4;

  private final Selector selector;
  private final Thread thread;
  private final ConcurrentLinkedQueue<Watched> added = new ConcurrentLinkedQueue<>();
  private volatile boolean closed;

  /** Is told what a connection is, exactly once. Must not wait. */
  interface Reader {
    /** It begins with a greeting. */
    void greets(SocketChannel tcp, ByteBuffer first);

    /** It does not, or it has ended: its server reads it. */
    void plain(ByteBuffer first);

    /** It is broken. */
    void failed(IOException cause);
  }

  private static final class Watched {
    final SocketChannel socket;
    final Reader reader;
    final ByteBuffer first = ByteBuffer.allocate(ENOUGH);

    Watched(SocketChannel socket, Reader reader) {
      this.socket = socket;
      this.reader = reader;
    }
  }

  FirstBytes(String name) throws IOException {
    selector = Selector.open();
    thread = new Thread(this::run, name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Takes a connection, which does not block, until it is known what it is. */
  void watch(SocketChannel socket, Reader reader) {
    added.add(new Watched(socket, reader));
    selector.wakeup();
  }

  private void run() {
    List<Watched> known = new ArrayList<>();
    try {
      while (!closed) {
        register();
        selector.select();
        for (SelectionKey key : selector.selectedKeys()) {
          if (look(key)) {
            known.add((Watched) key.attachment());
          }
        }
        selector.selectedKeys().clear();
        if (!known.isEmpty()) {
          selector.selectNow(); // what was cancelled is the server's again
          known.forEach(FirstBytes::tell);
          known.clear();
        }
      }
    } catch (IOException e) {
      closed = true;
    } finally {
      end();
    }
  }

  private void register() {
    for (Watched next = added.poll(); next != null; next = added.poll()) {
      try {
        next.socket.register(selector, SelectionKey.OP_READ, next);
      } catch (ClosedChannelException e) {
        next.reader.failed(e);
      }
    }
  }

  /** Reads what is there. @return whether it is known now what the connection is; its key is cancelled then */
  private static boolean look(SelectionKey key) {
    Watched watched = (Watched) key.attachment();
    try {
      int n = key.isValid() ? watched.socket.read(watched.first) : -1;
      if (n >= 0 && watched.first.hasRemaining() && Acceptor.isPossible(seen(watched))) {
        return false;
      }
    } catch (IOException | CancelledKeyException e) {
      watched.first.limit(watched.first.position()); // its server finds out, too
    }
    key.cancel();
    return true;
  }

  private static ByteBuffer seen(Watched watched) {
    ByteBuffer seen = watched.first.duplicate();
    seen.flip();
    return seen;
  }

  private static void tell(Watched watched) {
    ByteBuffer seen = seen(watched);
    if (seen.remaining() == ENOUGH && Acceptor.isPossible(seen)) {
      watched.reader.greets(watched.socket, seen);
    } else {
      watched.reader.plain(seen);
    }
  }

  private void end() {
    for (SelectionKey key : selector.keys()) {
      ((Watched) key.attachment()).reader.failed(new ClosedChannelException());
    }
    try {
      selector.close();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Connections whose first bytes have not come fail. */
  @Override
  public void close() {
    closed = true;
    selector.wakeup();
  }
}
