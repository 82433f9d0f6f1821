package org.apache.hadoop.hdfs.net;

import io.howdah.engine.RegisteredBuffer;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** What goes over a stream to a pipeline's next DataNode; a packet that came over one goes as it is. */
final class RdmaDataOutput extends DataOutputStream {
  private final RdmaOutput stream;

  RdmaDataOutput(RdmaOutput stream, int bufferSize) {
    super(new BufferedOutputStream(stream, bufferSize));
    this.stream = stream;
  }

  /** Sends a message without copying it. It must not be changed any more, and may be released. */
  void send(RegisteredBuffer message) throws IOException {
    flush();
    stream.send(message, message.length());
  }
}
