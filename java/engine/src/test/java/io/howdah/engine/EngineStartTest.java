package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How an engine starts where something is missing, and what a start costs a command. */
@Timeout(120)
class EngineStartTest {
  @TempDir
  Path folder;

  /** A command's engine: it meets another one of the process and moves data. Without lambdas, which cost a command. */
  static final class Command {
    private Command() {
    }

    public static void main(String[] args) throws Exception {
      try (Engine engine = Engine.acquire(new EngineConf().name("command"));
          Engine other = Engine.create(new EngineConf().name("other"))) {
        SocketChannel[] sockets = Pair.sockets();
        Accepting accepting = new Accepting(other, sockets[1]);
        accepting.start();
        Greeting greeting = engine.connect(sockets[0], "other:1", Pair.PATIENCE);
        accepting.join();
        System.out.println("linked over " + (greeting.isLinked() ? greeting.link().transport() : greeting.reason()));
      } catch (java.io.IOException e) {
        System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
      }
    }
  }

  private static final class Accepting extends Thread {
    private final Engine engine;
    private final SocketChannel socket;

    Accepting(Engine engine, SocketChannel socket) {
      this.engine = engine;
      this.socket = socket;
    }

    @Override
    public void run() {
      try {
        engine.accept(socket, null, Pair.PATIENCE);
      } catch (java.io.IOException e) {
        System.out.println("accept: " + e);
      }
    }
  }

  private static List<String> command(String... options) {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.add("-Djava.net.preferIPv4Stack=true");
    command.add("-Dio.howdah.native=" + System.getProperty("io.howdah.native"));
    command.addAll(Arrays.asList(options));
    command.addAll(Arrays.asList("-cp", System.getProperty("java.class.path"), Command.class.getName()));
    return command;
  }

  /** Runs it after a line of shell, in a mount name space of its own. */
  private String after(String shell, String... options) throws Exception {
    return run(after(shell, command(options)));
  }

  private static List<String> after(String shell, List<String> command) {
    String line = shell + " && exec \"$@\"";
    List<String> all = new ArrayList<>(Arrays.asList("unshare", "--mount", "sh", "-c", line, "sh"));
    all.addAll(command);
    return all;
  }

  private static String run(List<String> command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = Peer.output(process);
    assertThat(process.exitValue()).as(output).isZero();
    assertThat(output).doesNotContain("Error: ", "SIGSEGV", "Exception in thread");
    return output;
  }

  private static void needRoot() throws Exception {
    assumeTrue(new ProcessBuilder("unshare", "--mount", "true").start().waitFor() == 0,
        "mounting in a name space of one's own needs root");
  }

  @Test
  void withoutDevShmItWorks() throws Exception {
    needRoot();
    assertThat(after("mount -t tmpfs -o ro,size=4k none /dev/shm")).contains("linked over shm");
    assertThat(after("umount -l /dev/shm")).contains("linked over shm");
  }

  @Test
  void withLittleLockedMemoryItWorks() throws Exception {
    needRoot();
    assertThat(after("ulimit -l 64")).contains("linked over shm");
  }

  @Test
  void withAReadOnlyTmpItWorksOrSaysWhatToDo() throws Exception {
    needRoot();
    String readOnly = "mount -t tmpfs -o ro none /mnt";
    assertThat(after(readOnly, "-Djava.io.tmpdir=/mnt")).contains("linked over shm");
    List<String> jar = command("-Djava.io.tmpdir=/mnt");
    jar.removeIf(word -> word.startsWith("-Dio.howdah.native="));
    assertThat(run(after(readOnly, jar))).contains("EngineUnavailableException: the library can't be taken out of")
        .contains("java.io.tmpdir");
  }

  @Test
  void aWrongProfileIsNamed() throws Exception {
    Path profile = folder.resolve("wrong.profile");
    Files.write(profile, "nonsense\n".getBytes());
    ProcessBuilder builder = new ProcessBuilder(command()).redirectErrorStream(true);
    builder.environment().put("HOWDAH_TUNING_PROFILE", profile.toString());
    assertThat(Peer.output(builder.start())).contains("EngineException: profile " + profile)
        .contains("run: howdah tune");
  }

  @Test
  void aLibraryThatIsNoneIsNamed() throws Exception {
    Files.write(folder.resolve("libhowdah_jni.so"), "nonsense\n".getBytes());
    assertThat(run(command("-Dio.howdah.native=" + folder))).contains("EngineUnavailableException: " + folder)
        .contains("does not load");
  }

  @Test
  void aLibraryOfAnotherVersionIsNamed() throws Exception {
    Path source = folder.resolve("other.c");
    Path library = folder.resolve("other.so");
    Files.write(source, "const char *hd_version(void) { return \"9.9\"; }\n".getBytes());
    assertThat(new ProcessBuilder("gcc", "-shared", "-fPIC", "-o", library.toString(), source.toString()).inheritIO()
        .start().waitFor()).as("gcc, which built the library, builds another").isZero();
    ProcessBuilder builder = new ProcessBuilder(command()).redirectErrorStream(true);
    builder.environment().put("LD_PRELOAD", library.toString());
    assertThat(Peer.output(builder.start())).contains("EngineUnavailableException")
        .contains("libhowdah is version 9.9, libhowdah_jni.so was built for");
  }

  @Test
  void withoutDirectMemoryItIsAnException() throws Exception {
    assertThat(run(command("-XX:MaxDirectMemorySize=8k")))
        .contains("MemoryLimitException: the engine finds no direct memory").contains("-XX:MaxDirectMemorySize");
  }

  @Test
  void aStartTakesNoLambdasAndNoMethodHandles() throws Exception {
    String[] lines = run(command("-verbose:class")).split("\n");
    assertThat(lines).contains("linked over shm");
    assertThat(lines).filteredOn(line -> line.startsWith("[Loaded io.howdah.engine.Engine ")).hasSize(1);
    assertThat(lines).filteredOn(line -> line.matches(
        ".*(InnerClassLambdaMetafactory|InvokerBytecodeGenerator|javax[.]management[.]).*")).isEmpty();
  }
}
