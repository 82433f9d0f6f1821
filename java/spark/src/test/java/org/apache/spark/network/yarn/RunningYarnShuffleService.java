package org.apache.spark.network.yarn;

import org.apache.hadoop.conf.Configuration;

/** The service as a NodeManager runs it. */
public final class RunningYarnShuffleService implements AutoCloseable {
  private final RdmaYarnShuffleService service = new RdmaYarnShuffleService();

  /** Starts it. */
  public RunningYarnShuffleService(Configuration conf) {
    service.init(conf);
    service.start();
  }

  /** The port that it got. */
  public int port() {
    return YarnShuffleService.boundPort;
  }

  @Override
  public void close() {
    service.stop();
  }
}
