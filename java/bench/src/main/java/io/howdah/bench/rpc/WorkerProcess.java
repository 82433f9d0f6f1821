package io.howdah.bench.rpc;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A {@link Worker} in a process of its own. What it logs goes to a file. For one thread. */
final class WorkerProcess implements Closeable {
  private static final int SHOWN_LOG_LINES = 15;
  private final Process process;
  private final Writer commands;
  private final BufferedReader answers;
  private final File log;
  private final String name;

  /**
   * Starts it.
   *
   * @param environment variables that it gets besides ours; null as a value takes one away
   */
  WorkerProcess(String name, List<String> command, Map<String, String> environment, File log) {
    this.name = name;
    this.log = log;
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log));
    for (Map.Entry<String, String> variable : environment.entrySet()) {
      if (variable.getValue() == null) {
        builder.environment().remove(variable.getKey());
      } else {
        builder.environment().put(variable.getKey(), variable.getValue());
      }
    }
    try {
      process = builder.start();
    } catch (IOException e) {
      throw new BenchException(name + " can't be started: " + e.getMessage(), e);
    }
    commands = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
    answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Sends a command and waits for its answer. */
  JsonObject ask(Object... words) {
    send(words);
    return answer();
  }

  void send(Object... words) {
    StringBuilder line = new StringBuilder();
    for (Object word : words) {
      line.append(word).append(' ');
    }
    try {
      commands.append(line).append('\n').flush();
    } catch (IOException e) {
      throw ended(e);
    }
  }

  JsonObject answer() {
    try {
      String line = answers.readLine();
      if (line == null) {
        throw ended(null);
      }
      JsonObject answer = new Gson().fromJson(line, JsonObject.class);
      if (answer.has("error")) {
        throw new BenchException(name + " failed: " + answer.get("error").getAsString());
      }
      return answer;
    } catch (IOException e) {
      throw ended(e);
    }
  }

  private BenchException ended(IOException cause) {
    return new BenchException(name + " ended before its time; the last words of " + log + ":\n" + lastWords(), cause);
  }

  private String lastWords() {
    try {
      List<String> lines = Files.readAllLines(log.toPath(), StandardCharsets.UTF_8);
      return String.join("\n", lines.subList(Math.max(0, lines.size() - SHOWN_LOG_LINES), lines.size()));
    } catch (IOException e) {
      return "(can't be read: " + e.getMessage() + ")";
    }
  }

  /** Ends it: its input is over; one that does not see that is killed. */
  @Override
  public void close() {
    try {
      commands.close();
    } catch (IOException e) {
      process.destroyForcibly(); // it is gone already, or soon
    }
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
