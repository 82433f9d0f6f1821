package io.howdah.cluster;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** What the demo's jobs did: a table for the terminal and JSON for programs. */
final class DemoReport {
  private final JsonArray rows = new JsonArray();
  private Traffic traffic = new Traffic();
  private boolean passed = true;
  private double seconds;

  /** One job: what it read, seconds and processor seconds that it took, what was checked and whether that held. */
  void add(String job, String input, double took, double processor, String check, boolean ok) {
    JsonObject row = new JsonObject();
    row.addProperty("job", job);
    row.addProperty("input", input);
    row.addProperty("seconds", Math.round(took * 10) / 10.0);
    row.addProperty("cpuSeconds", Math.round(processor * 10) / 10.0);
    row.addProperty("check", check);
    row.addProperty("passed", ok);
    rows.add(row);
    passed &= ok;
  }

  /** What went over which transport; an engine that was there and carried nothing is a check that did not hold. */
  void traffic(Traffic carried) {
    traffic = carried;
    passed &= carried.idle().isEmpty();
  }

  /** Whether every check held, and there was one. */
  boolean passed() {
    return passed && rows.size() > 0;
  }

  void total(double took) {
    seconds = took;
  }

  void write(Path file, long size) throws IOException {
    JsonObject report = new JsonObject();
    report.addProperty("size", size);
    report.addProperty("passed", passed());
    report.addProperty("seconds", Math.round(seconds * 10) / 10.0);
    JsonObject conditions = new JsonObject();
    conditions.addProperty("cores", Machine.cores());
    conditions.addProperty("memoryMb", Machine.memoryMb());
    conditions.addProperty("java", System.getProperty("java.version"));
    conditions.addProperty("os", System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
        + System.getProperty("os.arch"));
    report.add("conditions", conditions);
    report.add("rows", rows);
    report.add("traffic", traffic.json());
    String text = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(report) + "\n";
    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private static String seconds(JsonElement seconds) {
    return String.format(Locale.ROOT, "%.1f s", seconds.getAsDouble());
  }

  @Override
  public String toString() {
    Table table = new Table("JOB", "INPUT", "TIME", "CPU", "CHECK", "");
    for (JsonElement element : rows) {
      JsonObject row = element.getAsJsonObject();
      table.row(row.get("job").getAsString(), row.get("input").getAsString(),
          seconds(row.get("seconds")), seconds(row.get("cpuSeconds")), row.get("check").getAsString(),
          row.get("passed").getAsBoolean() ? "ok" : "FAILED");
    }
    StringBuilder text = new StringBuilder(table.toString()).append('\n').append(traffic);
    traffic.idle().forEach(line -> text.append("FAILED: ").append(line).append('\n'));
    return text.toString();
  }
}
