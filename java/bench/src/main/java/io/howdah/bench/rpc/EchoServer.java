package io.howdah.bench.rpc;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.ProtobufRpcEngine;
import org.apache.hadoop.ipc.RPC;

/** A Hadoop RPC server that echoes payloads, through both of Hadoop's RPC engines. Thread-safe once started. */
public final class EchoServer implements AutoCloseable {
  private final RPC.Server server;

  /**
   * Starts listening on a free loopback port.
   *
   * @param handlers number of handler threads, at least 1
   * @throws IOException when no port can be bound
   */
  public EchoServer(Configuration conf, int handlers) throws IOException {
    this(conf, "127.0.0.1", 0, handlers);
  }

  /**
   * Starts listening.
   *
   * @param port 0 for a free one
   * @param handlers number of handler threads, at least 1
   * @throws IOException when the port cannot be bound
   */
  public EchoServer(Configuration conf, String address, int port, int handlers) throws IOException {
    RPC.setProtocolEngine(conf, ProtobufEcho.class, ProtobufRpcEngine.class);
    server = new RPC.Builder(conf)
        .setProtocol(EchoProtocol.class)
        .setInstance(new Echo())
        .setBindAddress(address)
        .setPort(port)
        .setNumHandlers(handlers)
        .setVerbose(false)
        .build();
    new ProtobufRpcEngine(); // its first instance makes it known to servers
    server.addProtocol(RPC.RpcKind.RPC_PROTOCOL_BUFFER, ProtobufEcho.class, new ProtobufEchoService());
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

    @Override
    public Text echoText(Text payload) {
      return payload;
    }

    @Override
    public long[] echoLongs(long[] payload) {
      return payload;
    }

    @Override
    public Text stats() {
      return new Text(ProcessStats.ofThisProcess().json());
    }
  }
}
