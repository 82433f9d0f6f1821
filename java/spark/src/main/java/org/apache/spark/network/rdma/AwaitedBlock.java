package org.apache.spark.network.rdma;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import scala.concurrent.Future;
import scala.concurrent.Promise;
import scala.concurrent.Promise$;

/**
 * A block that a thread waits for. That thread copies it to the heap, once, and not the one that takes everybody's
 * answers. What comes after it was closed is given back at once. Thread-safe.
 */
final class AwaitedBlock implements BlockFetchingListener, AutoCloseable {
  private final Promise<ManagedBuffer> result = Promise$.MODULE$.apply();
  private ManagedBuffer held;
  private boolean closed;

  /** The block, good until this is closed. */
  Future<ManagedBuffer> future() {
    return result.future();
  }

  @Override
  public void onBlockFetchSuccess(String block, ManagedBuffer data) {
    synchronized (this) {
      if (closed || held != null) {
        return;
      }
      held = data.retain();
    }
    result.trySuccess(data);
  }

  @Override
  public void onBlockFetchFailure(String block, Throwable cause) {
    result.tryFailure(cause);
  }

  /** The bytes in one piece on the heap. */
  static ByteBuffer copy(ManagedBuffer data) throws IOException {
    ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(data.size()));
    if (data instanceof RdmaManagedBuffer) {
      ((RdmaManagedBuffer) data).copyTo(copy);
    } else {
      copy.put(data.nioByteBuffer());
    }
    copy.flip();
    return copy;
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (held != null) {
      held.release();
      held = null;
    }
  }
}
