package org.apache.hadoop.mapreduce.task.reduce;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapred.RdmaShuffleHandler;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.security.token.Token;

/** A NodeManager's shuffle in a process of its own, which can be killed, suspended and started again on its port. */
final class ShuffleNodeProcess implements Closeable {
  private static final int START_SECONDS = 240;

  private final Path folder;
  private final Token<JobTokenIdentifier> token;
  private Process process;
  private int port;

  /** @param folder its outputs and its log */
  ShuffleNodeProcess(Path folder, Token<JobTokenIdentifier> token) throws IOException {
    this.folder = folder;
    this.token = token;
    Files.createDirectories(local());
  }

  /** Its local directory. */
  Path local() {
    return folder.resolve("local");
  }

  int port() {
    return port;
  }

  boolean isAlive() {
    return process != null && process.isAlive();
  }

  /** Starts it, on the port that it had before. @param settings name=value */
  void start(List<String> settings) throws IOException, InterruptedException {
    Path ready = folder.resolve("port");
    Files.deleteIfExists(ready);
    List<String> command = new ArrayList<>(Arrays.asList(System.getProperty("java.home") + "/bin/java", "-Xmx128m",
        "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dio.howdah.native=" + System.getProperty("io.howdah.native"),
        "-cp", System.getProperty("java.class.path"), ShuffleNodeProcess.class.getName(), folder.toString(),
        token.encodeToUrlString(), ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY + "=" + port));
    command.addAll(settings);
    File log = folder.resolve("log").toFile();
    process = new ProcessBuilder(command).redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log)).start();
    for (int i = 0; i < START_SECONDS * 100 && !Files.exists(ready) && process.isAlive(); i++) {
      TimeUnit.MILLISECONDS.sleep(10);
    }
    if (!Files.exists(ready)) {
      throw new IOException("a NodeManager does not start; its log is " + log);
    }
    port = Integer.parseInt(new String(Files.readAllBytes(ready)));
  }

  /** Ends it without a word. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** It goes on existing and does nothing for a while, with its connections open. */
  void pause(int millis) throws IOException, InterruptedException {
    signal("STOP");
    try {
      TimeUnit.MILLISECONDS.sleep(millis);
    } finally {
      signal("CONT");
    }
  }

  private void signal(String name) throws IOException, InterruptedException {
    try {
      Field pid = process.getClass().getDeclaredField("pid");
      pid.setAccessible(true);
      new ProcessBuilder("kill", "-" + name, pid.get(process).toString()).start().waitFor();
    } catch (ReflectiveOperationException e) {
      throw new IOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly();
  }

  /** The process. It ends with its parent. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Paths.get(arguments[0]);
    Token<JobTokenIdentifier> token = new Token<>();
    token.decodeFromUrlString(arguments[1]);
    ShuffleNode node = new ShuffleNode(new RdmaShuffleHandler(), folder.resolve("local"), token,
        Arrays.copyOfRange(arguments, 2, arguments.length));
    Files.write(folder.resolve("port.new"), String.valueOf(node.port()).getBytes());
    Files.move(folder.resolve("port.new"), folder.resolve("port"), StandardCopyOption.ATOMIC_MOVE);
    int read = 0;
    while (read >= 0) {
      read = System.in.read();
    }
    System.exit(0);
  }
}
