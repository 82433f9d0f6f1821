package org.apache.spark.network.rdma;

import java.util.Locale;
import java.util.Map;
import javax.servlet.http.HttpServletRequest;
import org.apache.spark.ui.UIUtils$;
import org.apache.spark.ui.WebUIPage;
import scala.collection.Seq;
import scala.runtime.AbstractFunction0;
import scala.xml.Node;
import scala.xml.XML;

/** What each executor fetched and served, by transport, with what it waited and the memory that is pinned. */
final class TransferPage extends WebUIPage {
  private static final String[] COLUMNS = {"Executor", "Fetched over the engine", "Blocks", "Requests", "Failures",
      "Fetched over Netty", "Blocks", "Fallbacks", "Fetch wait", "Served over the engine", "Pinned memory"};
  private static final double MEGABYTE = 1 << 20;

  private final TransferTab tab;
  private final TransferReports reports;
  private final Map<String, Long> waits;

  TransferPage(TransferTab tab, TransferReports reports, Map<String, Long> waits) {
    super("");
    this.tab = tab;
    this.reports = reports;
    this.waits = waits;
  }

  @Override
  public Seq<Node> render(HttpServletRequest request) {
    Seq<Node> content = XML.loadString(table(reports.all(), waits));
    return UIUtils$.MODULE$.headerSparkPage("Block Transfer", new AbstractFunction0<Seq<Node>>() {
      @Override
      public Seq<Node> apply() {
        return content;
      }
    }, tab, UIUtils$.MODULE$.headerSparkPage$default$4(), UIUtils$.MODULE$.headerSparkPage$default$5(), false, false);
  }

  static String table(Map<String, TransferReport> reports, Map<String, Long> waits) {
    StringBuilder text = new StringBuilder("<div><table class=\"table table-bordered table-condensed table-striped\">")
        .append("<thead><tr>");
    for (String column : COLUMNS) {
      text.append("<th>").append(column).append("</th>");
    }
    text.append("</tr></thead><tbody>");
    reports.forEach((executor, report) -> row(text, report, waits.getOrDefault(executor, 0L)));
    return text.append("</tbody></table></div>").toString();
  }

  private static void row(StringBuilder text, TransferReport report, long wait) {
    String executor = report.executor.replace("&", "&amp;").replace("<", "&lt;");
    String[] cells = {executor, megabytes(report, "engine.bytes"), "" + report.number("engine.blocks"),
        "" + report.number("engine.requests"), "" + report.number("engine.failures"),
        megabytes(report, "netty.bytes"), "" + report.number("netty.blocks"), "" + report.number("fallbacks"),
        String.format(Locale.ROOT, "%.1f s", wait / 1e3), megabytes(report, "served.bytes"),
        megabytes(report, "engine.memory.pinned")};
    text.append("<tr>");
    for (String cell : cells) {
      text.append("<td>").append(cell).append("</td>");
    }
    text.append("</tr>");
  }

  private static String megabytes(TransferReport report, String name) {
    return String.format(Locale.ROOT, "%.1f MB", report.number(name) / MEGABYTE);
  }
}
