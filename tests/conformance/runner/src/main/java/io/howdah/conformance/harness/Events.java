package io.howdah.conformance.harness;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/**
 * What a test JVM tells the runner, one line an event, written through at once so that a JVM that is killed has told all
 * it knew. Fields are separated by tabs; backslash, tab and line ends inside a field are escaped. Thread-safe.
 */
public final class Events {
  private final Writer out;
  private long startedAt;

  public Events(String file) throws IOException {
    out = new OutputStreamWriter(new FileOutputStream(file), StandardCharsets.UTF_8);
  }

  public void started(String test) {
    startedAt = System.nanoTime();
    write("start", test);
  }

  public void passed(String test) {
    write("pass", test, String.valueOf((System.nanoTime() - startedAt) / 1e9));
  }

  /** A failed assertion, an error, or a class that could not be set up: the runner treats them alike. */
  public void failed(String test, Throwable cause, String message) {
    StringWriter trace = new StringWriter();
    if (cause != null) {
      cause.printStackTrace(new PrintWriter(trace, true));
    }
    write("fail", test, message, trace.toString());
  }

  public void skipped(String test, String reason) {
    write("skip", test, reason);
  }

  /** The class ran to its end. Without this line the runner takes the class as crashed. */
  public void done() {
    write("done");
  }

  private synchronized void write(String... fields) {
    StringBuilder line = new StringBuilder();
    for (String field : fields) {
      if (line.length() > 0) {
        line.append('\t');
      }
      line.append(escape(field));
    }
    try {
      out.write(line.append('\n').toString());
      out.flush();
    } catch (IOException e) {
      // Nobody can be told any more; the missing "done" tells the runner.
      e.printStackTrace();
      Runtime.getRuntime().halt(3);
    }
  }

  private static String escape(String field) {
    return String.valueOf(field).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
  }

  /** The inverse of what {@link #write} does to one field. */
  public static String unescape(String field) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < field.length(); i++) {
      char c = field.charAt(i);
      if (c != '\\' || i + 1 == field.length()) {
        text.append(c);
        continue;
      }
      char next = field.charAt(++i);
      text.append(next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : next);
    }
    return text.toString();
  }
}
