package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.net.NetUtils;

/**
 * One end of a small run of Hadoop's RPC with the engine forced; in Hadoop's package because the counters are there.
 * <pre>
 * RpcPair server TRANSPORT HOST FILE   serves, with its port in FILE, until its standard input ends; then prints counters
 * RpcPair client TRANSPORT HOST FILE   calls, checks every answer, prints counters
 * </pre>
 * Exit status 0 only if every call was right and every connection went over the engine.
 */
public final class RpcPair {
  private static final int[] SIZES = {0, 1, 4096, 65_537, 1 << 20};
  private static final int ROUNDS = 3;

  private RpcPair() {
  }

  /** What is called. */
  public interface Echo extends VersionedProtocol {
    long versionID = 1L;

    BytesWritable echo(BytesWritable bytes) throws IOException;

    void fail(String words) throws IOException;
  }

  private static final class Answers implements Echo {
    @Override
    public BytesWritable echo(BytesWritable bytes) {
      return bytes;
    }

    @Override
    public void fail(String words) throws IOException {
      throw new IOException(words);
    }

    @Override
    public long getProtocolVersion(String protocol, long version) {
      return versionID;
    }

    @Override
    public ProtocolSignature getProtocolSignature(String protocol, long version, int hash) throws IOException {
      return ProtocolSignature.getProtocolSignature(this, protocol, version, hash);
    }
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setBoolean("hadoop.rdma.rpc.enabled", true);
    conf.setBoolean("hadoop.rdma.rpc.required", true);
    conf.set("hadoop.rdma.transport", args[1]);
    // An emulated processor: what is slow is not dead.
    conf.setInt("ipc.client.connect.timeout", 120_000);
    boolean good = args[0].equals("server") ? serve(conf, args[2], Paths.get(args[3]))
        : call(conf, new InetSocketAddress(args[2], Integer.parseInt(
            new String(Files.readAllBytes(Paths.get(args[3])), StandardCharsets.UTF_8))));
    System.exit(good ? 0 : 1);
  }

  private static boolean serve(Configuration conf, String host, Path file) throws IOException {
    RPC.Server server = new RPC.Builder(conf).setProtocol(Echo.class).setInstance(new Answers())
        .setBindAddress(host).setPort(0).setNumHandlers(2).build();
    server.start();
    Path written = file.resolveSibling(file.getFileName() + ".new");
    Files.write(written, String.valueOf(NetUtils.getConnectAddress(server).getPort()).getBytes(StandardCharsets.UTF_8));
    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
    while (System.in.read() >= 0) {
      // nothing is ever sent
    }
    RdmaMetrics metrics = RdmaMetrics.get();
    System.out.println("server: over the engine " + metrics.serverConnections().value() + ", over sockets "
        + metrics.serverSockets());
    server.stop();
    return metrics.serverConnections().value() > 0 && metrics.serverSockets() == 0;
  }

  private static boolean call(Configuration conf, InetSocketAddress server) throws IOException {
    Echo echo = RPC.getProxy(Echo.class, Echo.versionID, server, conf);
    int calls = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int size : SIZES) {
        check(echo, size, round);
        calls++;
      }
      checkFailure(echo, "round " + round);
      calls++;
    }
    RPC.stopProxy(echo);
    RdmaMetrics metrics = RdmaMetrics.get();
    System.out.println("client: " + calls + " calls, over the engine " + metrics.clientConnections().value()
        + ", fallbacks " + metrics.clientFallbacks().value() + ", over sockets " + metrics.clientSockets());
    return metrics.clientConnections().value() > 0 && metrics.clientFallbacks().value() == 0
        && metrics.clientSockets() == 0;
  }

  private static void check(Echo echo, int size, int round) throws IOException {
    byte[] sent = new byte[size];
    for (int i = 0; i < size; i++) {
      sent[i] = (byte) (i * 31 + round);
    }
    long start = System.nanoTime();
    byte[] got = echo.echo(new BytesWritable(sent)).copyBytes();
    if (!Arrays.equals(sent, got)) {
      throw new IOException(size + " bytes came back as " + got.length + ", or others");
    }
    System.out.printf("client: %d bytes there and back in %.1f ms%n", size, (System.nanoTime() - start) / 1e6);
  }

  private static void checkFailure(Echo echo, String words) throws IOException {
    try {
      echo.fail(words);
    } catch (RemoteException e) {
      // Of the engine that writes Writables the message has the stack of the server behind it.
      if (e.getClassName().equals(IOException.class.getName()) && words.equals(e.getMessage().split("\n", 2)[0])) {
        return;
      }
      throw e;
    }
    throw new IOException("the server's exception did not come");
  }
}
