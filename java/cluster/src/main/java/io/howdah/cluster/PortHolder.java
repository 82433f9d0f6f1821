package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.Set;

/** Who listens on a TCP port, as far as /proc tells this user. */
final class PortHolder {
  private static final String LISTEN = "0A";

  private PortHolder() {
  }

  /** "pid 4711 (java ...)", or "another process" where the system does not tell. */
  static String describe(int port) {
    Set<String> sockets = new HashSet<>();
    sockets.addAll(listeners(Paths.get("/proc/net/tcp"), port));
    sockets.addAll(listeners(Paths.get("/proc/net/tcp6"), port));
    if (!sockets.isEmpty()) {
      try (DirectoryStream<Path> processes = Files.newDirectoryStream(Paths.get("/proc"), "[0-9]*")) {
        for (Path process : processes) {
          if (holds(process, sockets)) {
            return "pid " + process.getFileName() + " (" + commandLine(process) + ")";
          }
        }
      } catch (IOException e) {
        return "another process";
      }
    }
    return "another process";
  }

  private static Set<String> listeners(Path table, int port) {
    Set<String> sockets = new HashSet<>();
    String wanted = String.format(":%04X", port);
    try {
      for (String line : Files.readAllLines(table, StandardCharsets.US_ASCII)) {
        String[] fields = line.trim().split("\\s+");
        if (fields.length > 9 && fields[1].endsWith(wanted) && fields[3].equals(LISTEN)) {
          sockets.add("socket:[" + fields[9] + "]");
        }
      }
    } catch (IOException e) {
      return sockets;
    }
    return sockets;
  }

  private static boolean holds(Path process, Set<String> sockets) {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(process.resolve("fd"))) {
      for (Path file : files) {
        if (sockets.contains(linkTarget(file))) {
          return true;
        }
      }
    } catch (IOException e) {
      return false;
    }
    return false;
  }

  private static String linkTarget(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      return "";
    }
  }

  private static String commandLine(Path process) {
    try {
      String line = new String(Files.readAllBytes(process.resolve("cmdline")), StandardCharsets.UTF_8);
      String text = line.replace('\0', ' ').trim();
      return text.length() > 100 ? text.substring(0, 97) + "..." : text;
    } catch (IOException e) {
      return "unknown";
    }
  }
}
