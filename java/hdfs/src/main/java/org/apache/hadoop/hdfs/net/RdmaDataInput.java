package org.apache.hadoop.hdfs.net;

import java.io.DataInputStream;

/** What comes over a stream as a DataXceiver reads it; a block receiver can get at its messages. */
final class RdmaDataInput extends DataInputStream {
  private final RdmaInput stream;

  RdmaDataInput(RdmaInput stream) {
    super(stream);
    this.stream = stream;
  }

  RdmaInput stream() {
    return stream;
  }
}
