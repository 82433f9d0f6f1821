package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PidRecordTest {
  @TempDir
  private Path folder;

  private PidRecord record(String text) throws IOException {
    Path file = folder.resolve("pid");
    Files.write(file, text.getBytes(StandardCharsets.US_ASCII));
    return PidRecord.read(file).orElse(null);
  }

  private static String boot() throws IOException {
    byte[] id = Files.readAllBytes(Paths.get("/proc/sys/kernel/random/boot_id"));
    return new String(id, StandardCharsets.US_ASCII).trim();
  }

  private static long self() {
    return Long.parseLong(
        java.lang.management.ManagementFactory.getRuntimeMXBean().getName().replaceAll("@.*", ""));
  }

  @Test
  void thisProcessIsAlive() {
    assertThat(PidRecord.of(self()).get().isAlive()).isTrue();
  }

  @Test
  void anotherProcessWithThePidIsNotIt() throws IOException {
    assertThat(record(self() + " 1 " + boot()).isAlive()).isFalse();
  }

  @Test
  void aProcessOfAnEarlierBootIsNotIt() throws Exception {
    String stat = new String(Files.readAllBytes(Paths.get("/proc/self/stat")), StandardCharsets.ISO_8859_1);
    String start = stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19];
    assertThat(record(self() + " " + start + " " + boot()).isAlive()).isTrue();
    assertThat(record(self() + " " + start + " 00000000-0000-0000-0000-000000000000").isAlive()).isFalse();
  }

  private static int pid(Process process) throws ReflectiveOperationException {
    java.lang.reflect.Field field = process.getClass().getDeclaredField("pid");
    field.setAccessible(true);
    return field.getInt(process);
  }

  @Test
  void childrenAreSeenUntilTheyAreWaitedFor() throws Exception {
    String script = "sleep 600 & echo; read -r; kill $!; wait; echo; read -r";
    Process parent = new ProcessBuilder("bash", "-c", script).start();
    try (BufferedReader said = new BufferedReader(new InputStreamReader(parent.getInputStream()))) {
      said.readLine();
      PidRecord record = PidRecord.of(pid(parent)).get();
      assertThat(record.hasChildren()).isTrue();
      parent.getOutputStream().write('\n');
      parent.getOutputStream().flush();
      said.readLine();
      assertThat(record.hasChildren()).isFalse();
    } finally {
      parent.destroyForcibly();
    }
  }

  @Test
  void aForeignProcessGetsNoSignal() throws Exception {
    Process sleeper = new ProcessBuilder("sleep", "60").start();
    try {
      record(pid(sleeper) + " 12345 " + boot()).signal("KILL");
      assertThat(sleeper.waitFor(300, TimeUnit.MILLISECONDS)).isFalse();
      PidRecord.of(pid(sleeper)).get().signal("KILL");
      assertThat(sleeper.waitFor(10, TimeUnit.SECONDS)).isTrue();
    } finally {
      sleeper.destroyForcibly();
    }
  }

  @Test
  void aHalfWrittenRecordIsNone() throws IOException {
    assertThat(record("")).isNull();
    assertThat(record("123 456")).isNull();
    assertThat(record("x y z")).isNull();
    assertThat(PidRecord.read(folder.resolve("absent"))).isEmpty();
  }
}
