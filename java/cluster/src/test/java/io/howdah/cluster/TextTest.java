package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The small readers and writers of text: shell words, logs, job output, memory limits. */
class TextTest {
  @TempDir
  private Path folder;

  @Test
  void shellWordsSurviveAShell() throws Exception {
    for (String word : Arrays.asList("plain/path", "with space", "it's", "$HOME `id` \"x\" \\", "", "a\nb")) {
      Process shell = new ProcessBuilder("sh", "-c", "printf %s " + Shell.quote(word)).start();
      byte[] said = new byte[100];
      int length = Math.max(0, shell.getInputStream().read(said));
      assertThat(new String(said, 0, length, StandardCharsets.UTF_8)).isEqualTo(word);
    }
  }

  @Test
  void theCauseIsFoundInALog() throws IOException {
    Path log = folder.resolve("log");
    Files.write(log, Arrays.asList("2026 INFO a: fine", "2026 ERROR b: broke", "java.io.IOException: x", "\tat y",
        "Caused by: java.net.BindException: in use", "\tat z", "2026 INFO a: SHUTDOWN_MSG"));
    assertThat(LogTail.cause(log)).contains("Caused by: java.net.BindException: in use");
    assertThat(LogTail.of(log, 2)).isEqualTo("Caused by: java.net.BindException: in use\n2026 INFO a: SHUTDOWN_MSG");
    assertThat(LogTail.of(folder.resolve("absent"), 2)).isEmpty();
  }

  @Test
  void aLineThatFillsAScreenIsCut() throws IOException {
    String path = "STARTUP_MSG:   classpath = " + String.join(":", Collections.nCopies(500, "/opt/x/lib/*"));
    Path log = Files.write(folder.resolve("long"), Arrays.asList(path, "Error: " + path, "last"));
    assertThat(LogTail.of(log, 3).split("\n")).hasSize(3).allMatch(line -> line.length() <= 403);
    assertThat(LogTail.cause(log).get()).startsWith("Error: STARTUP_MSG").hasSize(403).endsWith("...");
  }

  @Test
  void progressIsReadFromJobs() {
    assertThat(JobProgress.of("26/11/21 INFO mapreduce.Job:  map 40% reduce 12%")).contains("map 40 %, reduce 12 %");
    assertThat(JobProgress.of("INFO TaskSetManager: Finished task 3.0 in stage 1.0 (TID 5) in 12 ms on localhost "
        + "(executor 1) (2/8)")).contains("stage 1: task 2 of 8");
    assertThat(JobProgress.of("anything else")).isEmpty();
  }

  @Test
  void aLimitBelowTheMachinesMemoryCounts() throws IOException {
    Path meminfo = Files.write(folder.resolve("meminfo"), "MemTotal:  8388608 kB\nMemFree: 1 kB\n".getBytes());
    Path none = Files.write(folder.resolve("none"), "max\n".getBytes());
    Path huge = Files.write(folder.resolve("huge"), "9223372036854771712\n".getBytes());
    Path small = Files.write(folder.resolve("small"), "1073741824\n".getBytes());
    assertThat(Machine.memoryMb(meminfo, none, huge, folder.resolve("absent"))).isEqualTo(8192);
    assertThat(Machine.memoryMb(meminfo, small)).isEqualTo(1024);
  }

  @Test
  void plainPathsNeedNoAlias() {
    assertThat(Aliases.isPlain(folder.resolve("a-b_c.d+1"))).isTrue();
    assertThat(Aliases.isPlain(folder.resolve("a b"))).isFalse();
    assertThat(Aliases.isPlain(folder.resolve("a$b"))).isFalse();
  }
}
