package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** Processes that belong to a cluster by their environment: containers whose NodeManager was killed, above all. */
final class Leftovers {
  private Leftovers() {
  }

  /** Every live process that carries the cluster's id, but for this one. */
  static List<PidRecord> of(String clusterId) {
    byte[] mark = (Launcher.CLUSTER_ID + "=" + clusterId).getBytes(StandardCharsets.US_ASCII);
    String wanted = new String(mark, StandardCharsets.ISO_8859_1);
    List<PidRecord> found = new ArrayList<>();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(Paths.get("/proc"), "[0-9]*")) {
      for (Path process : processes) {
        if (environment(process).contains(wanted)) {
          long pid = Long.parseLong(process.getFileName().toString());
          PidRecord.of(pid).filter(PidRecord::isAlive).ifPresent(found::add);
        }
      }
    } catch (IOException e) {
      throw new ClusterException("/proc can't be read: " + e.getMessage());
    }
    return found;
  }

  private static String environment(Path process) {
    try {
      return new String(Files.readAllBytes(process.resolve("environ")), StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return "";
    }
  }
}
