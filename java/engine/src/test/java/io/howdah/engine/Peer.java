package io.howdah.engine;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another JVM: the child's side is {@link #main}, the parent's an object with a link to it. */
final class Peer implements Closeable {
  final Process process;
  final Engine engine;
  final Link link;
  private final Thread reader;

  private Peer(Process process, Engine engine, Link link, Thread reader) {
    this.process = process;
    this.engine = engine;
    this.link = link;
    this.reader = reader;
  }

  // The parent's side.

  /** Starts a JVM with more options, which runs {@link Child} or another main class. */
  static Process java(List<String> options, String main, String... args) throws IOException {
    return javaWith(options, System.getProperty("java.class.path"), main, args);
  }

  /** The same with a class path. */
  static Process javaWith(List<String> options, String classPath, String main, String... args) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.add("-Djava.net.preferIPv4Stack=true");
    command.add("-Xcheck:jni");
    command.add("-XX:ErrorFile=/dev/null");
    command.addAll(options);
    command.addAll(Arrays.asList("-cp", classPath, main));
    command.addAll(Arrays.asList(args));
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  /** Options for a JVM that uses the library and the transport of this one. */
  static List<String> properties() {
    return Arrays.asList("-Dio.howdah.native=" + System.getProperty("io.howdah.native"),
        "-Dhowdah.test.transport=" + Transports.LINKED);
  }

  /** A child that does what `mode` says, linked to over Transports.LINKED. */
  static Peer start(String mode) throws Exception {
    Engine engine = Engine.create(Pair.conf(Transports.LINKED).name("parent"));
    try (ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
      Process child = java(properties(), Peer.class.getName(), mode, Integer.toString(port));
      List<String> output = java.util.Collections.synchronizedList(new ArrayList<>());
      Thread reader = Threads.start(() -> collect(child, output));
      try (SocketChannel socket = listener.accept()) {
        Link link = engine.connect(socket, "child:1", Pair.PATIENCE).link();
        return new Peer(child, engine, link, reader);
      }
    }
  }

  static void collect(Process process, List<String> output) {
    try (BufferedReader in = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String line;
      while ((line = in.readLine()) != null) {
        output.add(line);
      }
    } catch (IOException e) {
      output.add(e.toString());
    }
  }

  /** What a process says until it ends, and whether it did in time. */
  static String output(Process process) throws Exception {
    List<String> lines = java.util.Collections.synchronizedList(new ArrayList<>());
    Thread reader = Threads.start(() -> collect(process, lines));
    if (!process.waitFor(Pair.PATIENCE, TimeUnit.MILLISECONDS)) {
      process.destroyForcibly();
      throw new AssertionError("the JVM does not end: " + lines);
    }
    reader.join(Pair.PATIENCE);
    return String.join("\n", lines);
  }

  @Override
  public void close() throws IOException {
    link.close();
    engine.close();
    try {
      process.destroyForcibly().waitFor();
      reader.join(Pair.PATIENCE);
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  // The child's side.

  /** echo PORT, mute PORT: serves the service "test", with its engine linked to the parent's. */
  public static void main(String[] args) throws Exception {
    Engine engine = Engine.create(Pair.conf(Transports.LINKED).name("child"));
    EventQueue queue = engine.newQueue();
    engine.listen("test", queue, null);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(args[1]))) {
      engine.accept(socket, null, Pair.PATIENCE); // who accepts has nothing to do with who listened
    }
    boolean echoes = "echo".equals(args[0]);
    for (;;) {
      queue.poll(new Echo(queue, echoes), -1);
    }
  }

  /** Sends every message back; one thread for all streams. */
  static final class Echo implements EventHandler {
    private final EventQueue queue;
    private final boolean echoes;

    Echo(EventQueue queue, boolean echoes) {
      this.queue = queue;
      this.echoes = echoes;
    }

    @Override
    public void accepted(EngineStream stream, Service service) throws IOException {
      stream.register(queue, null);
    }

    @Override
    public void readable(EngineStream stream) throws IOException {
      if (!echoes) {
        return;
      }
      try {
        for (RegisteredBuffer message; (message = stream.tryReceive()) != null; message.release()) {
          stream.send(message, 0, message.length());
        }
      } catch (LinkException e) {
        stream.close();
      }
      if (stream.isEnded()) {
        stream.close();
      }
    }
  }

  /** Sends and takes back, and compares. */
  static void exchange(EngineStream stream, byte[] bytes) throws IOException {
    stream.send(ByteBuffer.wrap(bytes));
    try (RegisteredBuffer back = stream.receive()) {
      byte[] got = new byte[back.length()];
      back.buffer().get(got);
      if (!Arrays.equals(got, bytes)) {
        throw new AssertionError("other bytes came back");
      }
    }
  }
}
