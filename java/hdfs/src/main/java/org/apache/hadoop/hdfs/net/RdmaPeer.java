package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.channels.ReadableByteChannel;
import org.apache.hadoop.net.unix.DomainSocket;

/** A stream as the peer that HDFS talks to, at either end. */
public final class RdmaPeer implements Peer {
  /** What may be under way towards us before the sender waits: the engine's own matter, so a plausible number. */
  private static final int RECEIVE_BUFFER = 1 << 20;

  private final EngineStream stream;
  private final RdmaInput in;
  private final RdmaOutput out;
  private final String remote;
  private final String local;

  /**
   * Takes a stream over.
   *
   * @param remote the peer's address, in the form "name/address:port" of a socket's
   * @param local ours
   * @param gone called if the peer turns out to have no such service any more
   */
  RdmaPeer(RdmaHdfs rdma, EngineStream stream, String remote, String local, Runnable gone) throws IOException {
    this.stream = stream;
    this.remote = remote;
    this.local = local;
    this.in = new RdmaInput(stream, remote, gone);
    this.out = new RdmaOutput(rdma, stream, remote, gone);
  }

  /** The peer of a socket without a channel: the stream that carries it, or the socket itself. */
  public static Peer of(Socket socket) throws IOException {
    RdmaPeer peer = socket instanceof RdmaSocket ? ((RdmaSocket) socket).peer() : null;
    return peer != null ? peer : new BasicInetPeer(socket);
  }

  @Override
  public InputStream getInputStream() {
    return in;
  }

  @Override
  public OutputStream getOutputStream() {
    return out;
  }

  @Override
  public ReadableByteChannel getInputStreamChannel() {
    return in;
  }

  @Override
  public void setReadTimeout(int timeoutMs) {
    in.setTimeout(timeoutMs);
  }

  /** Blocks that are written here may be received by these. */
  void setStages(RdmaStages stages) {
    in.setStages(stages);
  }

  int getReadTimeout() {
    return in.getTimeout();
  }

  @Override
  public void setWriteTimeout(int timeoutMs) {
    out.setTimeout(timeoutMs);
  }

  @Override
  public int getReceiveBufferSize() {
    return RECEIVE_BUFFER;
  }

  @Override
  public boolean getTcpNoDelay() {
    return true;
  }

  @Override
  public boolean isClosed() {
    return !stream.isOpen();
  }

  @Override
  public void close() throws IOException {
    in.close();
  }

  @Override
  public String getRemoteAddressString() {
    return remote;
  }

  @Override
  public String getLocalAddressString() {
    return local;
  }

  @Override
  public boolean isLocal() {
    return address(remote).equals(address(local));
  }

  /** The address without name and port. */
  private static String address(String of) {
    return of.substring(of.indexOf('/') + 1, of.lastIndexOf(':'));
  }

  @Override
  public DomainSocket getDomainSocket() {
    return null;
  }

  @Override
  public boolean hasSecureChannel() {
    return false; // as of a socket: who can listen on the fabric is the site's matter
  }

  @Override
  public String toString() {
    return "RdmaPeer(" + remote + ")";
  }
}
