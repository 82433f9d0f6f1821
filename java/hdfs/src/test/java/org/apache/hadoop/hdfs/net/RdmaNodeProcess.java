package org.apache.hadoop.hdfs.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;

/** A DataNode in a process of its own, which can be killed and suspended. What it logs is in its folder. */
final class RdmaNodeProcess {
  private final Path folder;
  private Process process;

  /**
   * Starts it.
   *
   * @param folder its configuration, its blocks and its log
   * @param site what it is configured with; addresses and folders are chosen here
   */
  RdmaNodeProcess(Path folder, Configuration site) throws IOException {
    this.folder = folder;
    Files.createDirectories(folder.resolve("conf"));
    Configuration own = new Configuration(site);
    own.set("dfs.datanode.data.dir", folder.resolve("data").toUri().toString());
    for (String service : Arrays.asList("address", "http.address", "ipc.address")) {
      own.set("dfs.datanode." + service, "127.0.0.1:0");
    }
    try (OutputStream out = Files.newOutputStream(folder.resolve("conf/hdfs-site.xml"))) {
      own.writeXml(out);
    }
    start();
  }

  /** Starts it once more, with the blocks that it has. */
  void start() throws IOException {
    File log = folder.resolve("log").toFile();
    process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Xmx256m",
        "-Djava.net.preferIPv4Stack=true", "-Dio.howdah.native=" + System.getProperty("io.howdah.native"), "-cp",
        folder.resolve("conf") + File.pathSeparator + System.getProperty("java.class.path"), DataNode.class.getName())
            .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(log)).start();
  }

  /** Ends it without a word. */
  void kill() throws Exception {
    signal("KILL");
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
  }

  /** It goes on existing and does nothing, with its connections open. */
  void suspend() throws Exception {
    signal("STOP");
  }

  void resume() throws Exception {
    signal("CONT");
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Whether it has a replica that is being written. */
  boolean isWriting() {
    try (Stream<Path> files = Files.walk(folder.resolve("data"))) {
      return files.anyMatch(file -> file.getParent().endsWith("rbw"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void signal(String name) throws Exception {
    Field pid = process.getClass().getDeclaredField("pid");
    pid.setAccessible(true);
    assertThat(new ProcessBuilder("kill", "-" + name, pid.get(process).toString()).start().waitFor()).isZero();
  }

  /** Lines of its log in which the expression is found. */
  long logged(String expression) {
    Pattern wanted = Pattern.compile(expression);
    try (Stream<String> lines = Files.lines(folder.resolve("log"), StandardCharsets.ISO_8859_1)) {
      return lines.filter(line -> wanted.matcher(line).find()).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** For good, also if it is suspended. */
  void destroy() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public String toString() {
    return folder.getFileName().toString();
  }
}
