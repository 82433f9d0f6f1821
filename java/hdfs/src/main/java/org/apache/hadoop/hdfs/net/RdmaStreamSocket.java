package org.apache.hadoop.hdfs.net;

import io.howdah.upgrade.Linked;
import io.howdah.upgrade.StreamSocket;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** A stream to a DataNode as a socket, which is read and written as HDFS does: large messages stay where they are. */
final class RdmaStreamSocket extends StreamSocket {
  private final RdmaPeer peer;

  RdmaStreamSocket(RdmaHdfs rdma, Linked linked) throws IOException {
    super(linked);
    peer = new RdmaPeer(rdma, linked.stream(), linked.remote().toString(), linked.local().toString(),
        linked::forget);
    peer.setWriteTimeout(rdma.writeTimeout());
  }

  /** The stream as the peer that HDFS talks to. */
  RdmaPeer peer() {
    return peer;
  }

  @Override
  protected InputStream newInput() {
    return peer.getInputStream();
  }

  @Override
  protected OutputStream newOutput() {
    return peer.getOutputStream();
  }

  @Override
  public void setSoTimeout(int millis) {
    super.setSoTimeout(millis);
    peer.setReadTimeout(millis);
  }

  @Override
  public void close() throws IOException {
    peer.close();
  }
}
