package org.apache.spark.network.rdma;

import java.util.Map;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;

/** "Block transfer" among the tabs of the driver's web UI. */
final class TransferTab extends SparkUITab {
  private static final String PREFIX = "blocktransfer";

  TransferTab(SparkUI ui, TransferReports reports, Map<String, Long> waits) {
    super(ui, PREFIX);
    attachPage(new TransferPage(this, reports, waits));
  }

  @Override
  public String name() {
    return "Block Transfer";
  }
}
