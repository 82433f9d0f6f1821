package io.howdah.bench.rpc;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.ProtobufRpcEngine;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A client of {@link EchoServer} with a connection of its own: Hadoop shares connections between callers of one user,
 * so each client is a user. For one thread.
 */
final class EchoClient implements Closeable {
  private final DataType type;
  private final int size;
  private final Object proxy;
  private final Object payload;
  private final int length;

  EchoClient(Configuration conf, InetSocketAddress server, DataType type, int size, int number) throws IOException {
    this.type = type;
    this.size = size;
    payload = type.make(size, 0);
    length = type.length(payload);
    RPC.setProtocolEngine(conf, ProtobufEcho.class, ProtobufRpcEngine.class);
    UserGroupInformation user = UserGroupInformation.createRemoteUser("client" + number);
    proxy = RPC.getProxy(type.protocol(), EchoProtocol.VERSION, server, user, conf,
        NetUtils.getDefaultSocketFactory(conf));
  }

  /** One call with a payload that is made once, its answer checked for its length. */
  void call() throws IOException {
    int got = type.length(type.send(proxy, payload));
    if (got != length) {
      throw new WrongAnswerException("sent " + type + " of length " + length + ", got back " + got);
    }
  }

  /** One call whose payload depends on the stamp, its answer compared as a whole. */
  void callChecked(long stamp) throws IOException {
    Object sent = type.make(size, stamp);
    if (!type.same(sent, type.send(proxy, sent))) {
      throw new WrongAnswerException("the answer to call " + stamp + " is not what was sent");
    }
  }

  @Override
  public void close() {
    RPC.stopProxy(proxy);
  }

  /** The call came back with something else than it was sent with. */
  static final class WrongAnswerException extends IOException {
    WrongAnswerException(String message) {
      super(message);
    }
  }
}
