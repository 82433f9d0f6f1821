package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;

/** A server for the tests, and proxies to it. */
final class RdmaTestServer implements AutoCloseable {
  final RPC.Server server;

  private static final class Implementation implements RdmaTestProtocol {
    @Override
    public BytesWritable echo(BytesWritable payload) {
      return payload;
    }

    @Override
    public BytesWritable give(int size) {
      byte[] bytes = new byte[size];
      Arrays.fill(bytes, (byte) size);
      return new BytesWritable(bytes);
    }

    @Override
    public void rest(int millis) throws IOException {
      try {
        Thread.sleep(millis);
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    @Override
    public void fail(Text message) {
      throw new IllegalArgumentException(message.toString());
    }

    @Override
    public Text caller() {
      return new Text(Server.getRemoteUser().getUserName() + " " + Server.getRemoteAddress() + " "
          + Server.getCallId() + " " + Server.getCallRetryCount());
    }

    @Override
    public long getProtocolVersion(String protocol, long version) {
      return VERSION;
    }

    @Override
    public ProtocolSignature getProtocolSignature(String protocol, long version, int hash) {
      return new ProtocolSignature(VERSION, null);
    }
  }

  RdmaTestServer(Configuration conf, int handlers) throws IOException {
    this(conf, handlers, 0, null);
  }

  RdmaTestServer(Configuration conf, int handlers, int port, SecretManager<RdmaTestTokens.Identifier> secrets)
      throws IOException {
    this(conf, handlers, "127.0.0.1", port, secrets);
  }

  RdmaTestServer(Configuration conf, int handlers, String address, int port,
      SecretManager<RdmaTestTokens.Identifier> secrets) throws IOException {
    server = new RPC.Builder(conf).setProtocol(RdmaTestProtocol.class).setInstance(new Implementation())
        .setBindAddress(address).setPort(port).setNumHandlers(handlers).setSecretManager(secrets).build();
    server.start();
  }

  InetSocketAddress address() {
    return NetUtils.getConnectAddress(server);
  }

  RdmaTestProtocol proxy(Configuration conf) throws IOException {
    return proxy(conf, 0);
  }

  RdmaTestProtocol proxy(Configuration conf, int timeoutMillis) throws IOException {
    return RPC.getProxy(RdmaTestProtocol.class, RdmaTestProtocol.VERSION, address(),
        UserGroupInformation.getCurrentUser(), conf, NetUtils.getDefaultSocketFactory(conf), timeoutMillis);
  }

  @Override
  public void close() {
    server.stop();
  }

  // Configurations.

  /** Over shared memory, or not at all. */
  static Configuration forced() {
    Configuration conf = byDefault();
    conf.set("hadoop.rdma.transport", "shm");
    return conf;
  }

  /** Nothing is said of the engine. */
  static Configuration byDefault() {
    Configuration conf = new Configuration();
    conf.setInt("ipc.client.connect.max.retries", 0);
    return conf;
  }

  /** As stock Hadoop. */
  static Configuration off() {
    Configuration conf = byDefault();
    conf.set("hadoop.rdma.enabled", "false");
    return conf;
  }
}
