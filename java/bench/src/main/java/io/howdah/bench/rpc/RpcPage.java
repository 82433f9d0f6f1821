package io.howdah.bench.rpc;

import io.howdah.bench.rpc.Sample.Case;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** A report as one HTML file that needs nothing else: plots as SVG, conditions below. */
final class RpcPage {
  private static final int VARIATION_LIMIT = 512 << 10;
  private final RpcReport report;

  RpcPage(RpcReport report) {
    this.report = report;
  }

  String html() {
    StringBuilder page = new StringBuilder("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
        + "<title>Hadoop RPC</title><style>body{font:14px sans-serif;max-width:60em;margin:2em auto}"
        + "svg{display:block;margin:1em 0}pre{white-space:pre-wrap}</style></head><body><h1>Hadoop RPC</h1>\n");
    latency(page, "mean", "Mean round trip");
    latency(page, "p99", "99th percentile of the round trip");
    variation(page);
    throughput(page);
    page.append("<h2>Conditions</h2><pre>");
    report.conditions().forEach((name, value) -> page.append(escape(name + ": " + value)).append('\n'));
    return page.append("</pre></body></html>\n").toString();
  }

  private List<Case> cases(String measure) {
    return RpcRounds.cases(report.plan()).stream()
        .filter(what -> what.measure.equals(measure)).collect(Collectors.toList());
  }

  private void latency(StringBuilder page, String value, String title) {
    List<Case> cases = cases("latency");
    if (cases.isEmpty()) {
      return;
    }
    Map<String, double[]> lines = new LinkedHashMap<>();
    for (String side : report.sides()) {
      lines.put(side, cases.stream().mapToDouble(what -> report.median(side, what, value)).toArray());
    }
    List<String> labels = cases.stream().map(what -> size(what.bytes)).collect(Collectors.toList());
    page.append(new LineChart(title + ", microseconds (logarithmic)", labels, lines, true).svg());
  }

  /** Round by round, as in figures 3 and 5 of the OpenPOWER paper: the smallest payload and a large one. */
  private void variation(StringBuilder page) {
    List<Case> cases = cases("latency");
    if (cases.isEmpty() || report.plan().rounds < 2) {
      return;
    }
    Case large = cases.get(0);
    for (Case what : cases) {
      large = what.bytes <= VARIATION_LIMIT ? what : large;
    }
    for (Case what : new Case[] {cases.get(0), large}) {
      Map<String, double[]> lines = new LinkedHashMap<>();
      report.sides().forEach(side -> lines.put(side, report.rounds(side, what, "mean")));
      List<String> labels = new ArrayList<>();
      for (int round = 1; round <= report.plan().rounds; round++) {
        labels.add(Integer.toString(round));
      }
      String title = "Mean round trip of " + size(what.bytes) + " by round, microseconds";
      page.append(new LineChart(title, labels, lines, false).svg());
    }
  }

  private void throughput(StringBuilder page) {
    for (int size : report.plan().loadSizes) {
      List<Case> cases = cases("throughput").stream().filter(what -> what.bytes == size).collect(Collectors.toList());
      List<String> labels = cases.stream()
          .map(what -> what.clients + " / " + what.handlers).collect(Collectors.toList());
      Map<String, double[]> lines = new LinkedHashMap<>();
      for (String side : report.sides()) {
        lines.put(side, cases.stream().mapToDouble(what -> report.median(side, what, "rate")).toArray());
      }
      String title = "Calls a second of " + size(size) + ", by clients / handlers";
      page.append(new LineChart(title, labels, lines, false).svg());
    }
  }

  private static String size(int bytes) {
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) {
      return (bytes >> 20) + " MB";
    }
    return bytes >= 1 << 10 && bytes % (1 << 10) == 0 ? (bytes >> 10) + " KB" : bytes + " B";
  }

  static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }

  /** Points over labels, a line a side. */
  private static final class LineChart {
    private static final String[] COLOURS = {"#1f77b4", "#888888"};
    private static final int WIDTH = 760;
    private static final int HEIGHT = 300;
    private static final int LEFT = 70;
    private static final int BOTTOM = 40;
    private static final int TOP = 30;
    private final String title;
    private final List<String> labels;
    private final Map<String, double[]> lines;
    private final boolean logarithmic;

    LineChart(String title, List<String> labels, Map<String, double[]> lines, boolean logarithmic) {
      this.title = title;
      this.labels = labels;
      this.lines = lines;
      this.logarithmic = logarithmic;
    }

    String svg() {
      double least = lines.values().stream().flatMapToDouble(java.util.Arrays::stream).min().orElse(1);
      double most = lines.values().stream().flatMapToDouble(java.util.Arrays::stream).max().orElse(1);
      double low = logarithmic ? Math.floor(Math.log10(Math.max(least, 0.1))) : 0;
      double high = logarithmic ? Math.ceil(Math.log10(Math.max(most, 1))) : most * 1.1;
      StringBuilder svg = new StringBuilder(String.format(Locale.ROOT,
          "<svg width=\"%d\" height=\"%d\" font-size=\"12\"><text x=\"%d\" y=\"16\" font-weight=\"bold\">%s</text>%n",
          WIDTH, HEIGHT, LEFT, escape(title)));
      int steps = logarithmic ? (int) Math.max(1, high - low) : 5;
      for (int i = 0; i <= steps; i++) {
        double value = low + (high - low) * i / steps;
        double y = y(value, low, high);
        svg.append(String.format(Locale.ROOT, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
            + "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>%n", LEFT, WIDTH - 20, y, y, LEFT - 6, y + 4,
            logarithmic ? Math.pow(10, value) : value));
      }
      for (int i = 0; i < labels.size(); i++) {
        svg.append(String.format(Locale.ROOT, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>%n", x(i),
            HEIGHT - BOTTOM + 18, escape(labels.get(i))));
      }
      int number = 0;
      for (Map.Entry<String, double[]> line : lines.entrySet()) {
        add(svg, line.getKey(), line.getValue(), number++, new double[] {low, high});
      }
      return svg.append("</svg>\n").toString();
    }

    private void add(StringBuilder svg, String side, double[] values, int number, double[] scale) {
      String colour = COLOURS[number % COLOURS.length];
      StringBuilder points = new StringBuilder();
      for (int i = 0; i < values.length; i++) {
        double y = y(logarithmic ? Math.log10(Math.max(values[i], 0.1)) : values[i], scale[0], scale[1]);
        points.append(String.format(Locale.ROOT, "%.1f,%.1f ", x(i), y));
        svg.append(String.format(Locale.ROOT, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%s, %s: %.1f"
            + "</title></circle>%n", x(i), y, colour, side, escape(labels.get(i)), values[i]));
      }
      svg.append(String.format(Locale.ROOT, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\"/>"
          + "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>%n", points, colour, WIDTH - 100, TOP + 14 * number, colour,
          side));
    }

    private double x(int position) {
      return LEFT + (WIDTH - 40.0 - LEFT) * (position + 0.5) / labels.size();
    }

    private static double y(double value, double low, double high) {
      return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP - 10) * (value - low) / Math.max(1e-9, high - low);
    }
  }
}
