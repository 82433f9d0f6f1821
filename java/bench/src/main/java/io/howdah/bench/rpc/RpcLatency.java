package io.howdah.bench.rpc;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.ipc.RPC;

/**
 * Latency of Hadoop RPC: one client, one call at a time, round trips of a payload that is echoed.
 *
 * <pre>
 *   RpcLatency server HANDLERS                          prints its port, runs until its input ends
 *   RpcLatency client PORT ITERATIONS SIZE [SIZE ...]   prints a line a size: bytes, mean, p50, p99 (microseconds)
 * </pre>
 *
 * The first half of the iterations warms up and is not counted, as in the measurements of
 * "Performance Characterization and Acceleration of Big Data Workloads on OpenPOWER System" (IEEE BigData 2017).
 */
public final class RpcLatency {
  private RpcLatency() {}

  /** Runs the server or the client; see the class. */
  public static void main(String[] args) throws IOException {
    if (args.length >= 2 && args[0].equals("server")) {
      serve(Integer.parseInt(args[1]));
    } else if (args.length >= 4 && args[0].equals("client")) {
      int[] sizes = new int[args.length - 3];
      for (int i = 0; i < sizes.length; i++) {
        sizes[i] = Integer.parseInt(args[i + 3]);
      }
      measure(Integer.parseInt(args[1]), Integer.parseInt(args[2]), sizes, System.out);
    } else {
      System.err.println("usage: RpcLatency server HANDLERS | client PORT ITERATIONS SIZE [SIZE ...]");
      System.exit(2);
    }
  }

  private static void serve(int handlers) throws IOException {
    try (EchoServer server = new EchoServer(new Configuration(), handlers)) {
      System.out.println(server.port());
      // The parent closes our input when it is done, or when it dies: no server outlives its benchmark.
      while (System.in.read() >= 0) {
        continue;
      }
    }
  }

  /** Measures each size in turn over one connection and prints a line for it. */
  static void measure(int port, int iterations, int[] sizes, PrintStream out) throws IOException {
    Configuration conf = new Configuration();
    EchoProtocol echo = RPC.getProxy(
        EchoProtocol.class, EchoProtocol.VERSION, new InetSocketAddress("127.0.0.1", port), conf);
    try {
      for (int size : sizes) {
        Latencies result = roundTrips(echo, size, iterations);
        out.printf(Locale.ROOT, "%d\t%.3f\t%.3f\t%.3f%n",
            size, result.mean(), result.percentile(0.5), result.percentile(0.99));
      }
    } finally {
      RPC.stopProxy(echo);
    }
  }

  private static Latencies roundTrips(EchoProtocol echo, int size, int iterations) throws IOException {
    BytesWritable payload = new BytesWritable(new byte[size]);
    int warmUp = iterations / 2;
    Latencies result = new Latencies(iterations - warmUp);
    for (int i = 0; i < iterations; i++) {
      long start = System.nanoTime();
      BytesWritable answer = echo.echo(payload);
      long end = System.nanoTime();
      if (answer.getLength() != size) {
        throw new IOException("sent " + size + " bytes, got back " + answer.getLength());
      }
      if (i >= warmUp) {
        result.add(end - start);
      }
    }
    return result;
  }
}
