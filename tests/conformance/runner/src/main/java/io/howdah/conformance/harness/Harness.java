package io.howdah.conformance.harness;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Main class of a test JVM: runs one test class with the framework it is written for, writes what happens to the file
 * named by {@code conformance.events}, and ends the JVM whatever threads the tests left. With {@code conformance.only}
 * only the tests named in that file run, one name a line.
 */
public final class Harness {
  private Harness() {
  }

  public static void main(String[] args) throws Exception {
    endWithRunner();
    Events events = new Events(System.getProperty("conformance.events"));
    Class<?> tests = Class.forName(args[0], false, Harness.class.getClassLoader());
    if (isScalaTest(tests)) {
      ScalaTests.run(tests, only(), events);
    } else {
      JUnitTests.run(tests, only(), events);
    }
    EngineCheck.run(only().isEmpty(), events);
    events.done();
    Runtime.getRuntime().halt(0);
  }

  /** The runner holds our standard input open; when it is gone, however that came about, so are we. */
  private static void endWithRunner() {
    Thread watch = new Thread(() -> {
      try {
        while (System.in.read() >= 0) {
          // nothing is ever sent
        }
      } catch (IOException e) {
        // the same as its end
      }
      Runtime.getRuntime().halt(4);
    }, "conformance-runner-watch");
    watch.setDaemon(true);
    watch.start();
  }

  private static boolean isScalaTest(Class<?> tests) {
    try {
      return Class.forName("org.scalatest.Suite", false, Harness.class.getClassLoader()).isAssignableFrom(tests);
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static Set<String> only() throws IOException {
    String file = System.getProperty("conformance.only");
    if (file == null) {
      return Collections.emptySet();
    }
    Set<String> names = new LinkedHashSet<>();
    for (String line : Files.readAllLines(Paths.get(file), StandardCharsets.UTF_8)) {
      names.add(Events.unescape(line));
    }
    return names;
  }
}
