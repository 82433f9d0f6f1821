package io.howdah.bench.rpc;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.ipc.RPC;

/** A Hadoop RPC server on a free loopback port that echoes payloads. Thread-safe once started. */
public final class EchoServer implements AutoCloseable {
  private final RPC.Server server;

  /**
   * Starts listening.
   *
   * @param handlers number of handler threads, at least 1
   * @throws IOException when no port can be bound
   */
  public EchoServer(Configuration conf, int handlers) throws IOException {
    server = new RPC.Builder(conf)
        .setProtocol(EchoProtocol.class)
        .setInstance(new Echo())
        .setBindAddress("127.0.0.1")
        .setPort(0)
        .setNumHandlers(handlers)
        .setVerbose(false)
        .build();
    server.start();
  }

  /** The port that was chosen. */
  public int port() {
    return server.getListenerAddress().getPort();
  }

  @Override
  public void close() {
    server.stop();
  }

  private static final class Echo implements EchoProtocol {
    @Override
    public BytesWritable echo(BytesWritable payload) {
      return payload;
    }
  }
}
