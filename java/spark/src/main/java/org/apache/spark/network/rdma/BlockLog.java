package org.apache.spark.network.rdma;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where all of this package logs; of executors, drivers and shuffle services alike. */
final class BlockLog {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.spark");

  private BlockLog() {
  }
}
