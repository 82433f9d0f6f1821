package io.howdah.upgrade.nio;

import io.howdah.engine.Link;
import io.howdah.upgrade.Acceptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * Answers greetings on a port of a server with selectors, which looks at the first bytes of its connections itself.
 * Thread-safe.
 *
 * @param <C> the server's connections
 */
public final class NioGreeter<C> {
  private final Acceptor acceptor;
  private final Listener<C> listener;

  /**
   * What a server does with its connections. Called by threads of the acceptor.
   *
   * @param <C> the server's connections
   */
  public interface Listener<C> {
    /** A connection goes on over a link, which the callee closes. Its key is not selected any more. */
    void linked(C connection, SelectionKey key, Link link) throws IOException;

    /**
     * A connection stays what it was, and the bytes that were read before are in the server's buffer again.
     *
     * @param full whether they fill it
     */
    void plain(C connection, boolean full);

    /** A greeting failed: close the connection. Afterwards the key's selector is woken. */
    void failed(C connection, String cause);
  }

  /** A greeter of a server. */
  public NioGreeter(Acceptor acceptor, Listener<C> listener) {
    this.acceptor = acceptor;
    this.listener = listener;
  }

  /**
   * Takes a connection over that can begin with a greeting. Its key is not selected until it is known what it is.
   *
   * @param first where the server reads the first bytes of a connection to, with what it has read; its capacity is at
   *     least that of what a greeting is told by
   */
  public void greet(SelectionKey key, C connection, ByteBuffer first) {
    key.interestOps(0);
    ByteBuffer prefix = first.duplicate();
    prefix.flip();
    acceptor.answer((SocketChannel) key.channel(), prefix, new Acceptor.Answer() {
      @Override
      public void linked(Link link) throws IOException {
        first.clear(); // on the stream the connection begins anew
        listener.linked(connection, key, link);
      }

      @Override
      public void plain(ByteBuffer unread) {
        if (unread.remaining() > first.capacity()) {
          failed("it is neither a greeting nor the server's own protocol");
          return;
        }
        first.clear();
        first.put(unread);
        listener.plain(connection, !first.hasRemaining());
        key.interestOps(SelectionKey.OP_READ);
        key.selector().wakeup();
      }

      @Override
      public void failed(String cause) {
        listener.failed(connection, cause);
        key.selector().wakeup(); // a closed socket's descriptor is the selector's until it selects again
      }
    });
  }
}
