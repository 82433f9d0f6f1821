package io.howdah.bench.rpc;

import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;

/** Asks a server that is not this benchmark's child, on another node, what it has used. For one thread. */
final class StatsClient implements Closeable {
  private final EchoProtocol proxy;

  StatsClient(Configuration conf, InetSocketAddress server) throws IOException {
    proxy = RPC.getProxy(EchoProtocol.class, EchoProtocol.VERSION, server, conf);
  }

  Map<String, Long> stats() throws IOException {
    return new Gson().fromJson(proxy.stats().toString(), new TypeToken<Map<String, Long>>() { }.getType());
  }

  @Override
  public void close() {
    RPC.stopProxy(proxy);
  }
}
