package io.howdah.bench.engine;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Greeting;
import io.howdah.engine.Service;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Locale;

/**
 * Latency of the engine from Java, and of TCP over loopback beside it: one message at a time, echoed by a server.
 *
 * <pre>
 *   EnginePing server                               prints its port, serves one client, ends with it
 *   EnginePing client PORT ROUNDS SIZE [SIZE ...]   prints a line a size and way: way, bytes, one way p50, p99 (us)
 * </pre>
 *
 * The two ways alternate, a tenth of the rounds at a time; the first tenth of each warms up and is not counted.
 */
public final class EnginePing {
  private static final String SERVICE = "ping";
  private static final int LARGEST = 1 << 20;
  private static final int TURNS = 10;

  private EnginePing() {}

  /** Runs the server or the client; see the class. */
  public static void main(String[] args) throws Exception {
    if (args.length == 1 && args[0].equals("server")) {
      serve(System.out);
    } else if (args.length >= 4 && args[0].equals("client")) {
      int[] sizes = Arrays.stream(args, 3, args.length).mapToInt(Integer::parseInt).toArray();
      measure(Integer.parseInt(args[1]), Integer.parseInt(args[2]), sizes, System.out);
    } else {
      System.err.println("usage: EnginePing server | client PORT ROUNDS SIZE [SIZE ...]");
      System.exit(2);
    }
  }

  /** Serves one client over a link and over a plain connection, until it leaves. */
  static void serve(PrintStream out) throws Exception {
    try (Engine engine = Engine.acquire(new EngineConf().name(SERVICE));
        ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      EventQueue queue = engine.newQueue();
      engine.listen(SERVICE, queue, null);
      out.println(((InetSocketAddress) listener.getLocalAddress()).getPort());
      try (SocketChannel guard = listener.accept()) {
        Greeting greeting = engine.accept(guard, null, 0);
        if (!greeting.isLinked()) {
          throw new IOException("no link: " + greeting.reason());
        }
        greeting.link().close();
      }
      try (SocketChannel plain = listener.accept(); EngineStream stream = nextStream(queue)) {
        plain.setOption(StandardSocketOptions.TCP_NODELAY, true);
        Thread other = new Thread(() -> echo(plain), "tcp");
        other.start();
        echo(stream);
        other.join();
      }
      queue.close();
    }
  }

  private static EngineStream nextStream(EventQueue queue) throws IOException {
    EngineStream[] accepted = new EngineStream[1];
    while (accepted[0] == null) {
      queue.poll(new EventHandler() {
        @Override
        public void accepted(EngineStream stream, Service service) {
          accepted[0] = stream;
        }
      }, -1);
    }
    return accepted[0];
  }

  /** Sends back what comes, until the end. */
  private static void echo(ByteChannel channel) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(LARGEST);
    try {
      while (channel.read(buffer) >= 0) {
        buffer.flip();
        while (buffer.hasRemaining()) {
          channel.write(buffer);
        }
        buffer.clear();
      }
    } catch (IOException e) {
      System.err.println("the client is lost: " + e);
    }
  }

  /** Measures each size over both ways. */
  static void measure(int port, int rounds, int[] sizes, PrintStream out) throws IOException {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    try (Engine engine = Engine.acquire(new EngineConf().name("ping-client"));
        SocketChannel guard = SocketChannel.open(address)) {
      Greeting greeting = engine.connect(guard, "localhost:" + port, 0);
      if (!greeting.isLinked()) {
        throw new IOException("no link: " + greeting.reason());
      }
      try (SocketChannel plain = SocketChannel.open(address); EngineStream stream = greeting.link().open(SERVICE)) {
        plain.setOption(StandardSocketOptions.TCP_NODELAY, true);
        for (int size : sizes) {
          alternate(greeting.link().transport(), stream, plain, size, rounds, out);
        }
        stream.shutdownOutput();
      } finally {
        greeting.link().close();
      }
    }
  }

  private static void alternate(String name, ByteChannel engine, ByteChannel tcp, int size, int rounds, PrintStream out)
      throws IOException {
    int turn = Math.max(1, rounds / TURNS);
    long[] engineTimes = new long[turn * TURNS];
    long[] tcpTimes = new long[turn * TURNS];
    for (int i = 0; i < TURNS; i++) {
      pingPong(engine, size, engineTimes, i * turn, turn);
      pingPong(tcp, size, tcpTimes, i * turn, turn);
    }
    print(out, name, size, Arrays.copyOfRange(engineTimes, turn, engineTimes.length));
    print(out, "tcp", size, Arrays.copyOfRange(tcpTimes, turn, tcpTimes.length));
  }

  private static void pingPong(ByteChannel channel, int size, long[] times, int from, int count) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(size);
    for (int i = from; i < from + count; i++) {
      long start = System.nanoTime();
      buffer.clear();
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
      buffer.clear();
      while (buffer.hasRemaining()) {
        if (channel.read(buffer) < 0) {
          throw new IOException("the server is gone");
        }
      }
      times[i] = System.nanoTime() - start;
    }
  }

  private static void print(PrintStream out, String way, int size, long[] roundTrips) {
    Arrays.sort(roundTrips);
    out.printf(Locale.ROOT, "%s\t%d\t%.3f\t%.3f%n", way, size, oneWay(roundTrips, 50), oneWay(roundTrips, 99));
  }

  /** Half of a round trip, in microseconds. */
  static double oneWay(long[] sorted, int percent) {
    return sorted.length == 0 ? Double.NaN : sorted[(sorted.length - 1) * percent / 100] / 2e3;
  }
}
