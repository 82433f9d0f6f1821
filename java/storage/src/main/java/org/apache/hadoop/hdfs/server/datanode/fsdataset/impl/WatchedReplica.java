package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ChunkChecksum;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipelineInterface;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.ReplicaOutputStreams;
import org.apache.hadoop.util.DataChecksum;

/**
 * A replica that is being written, for its receiver: another copy of it grows before packets are acknowledged, or lasts
 * before an hsync is. The replica in the dataset's map stays upstream's.
 */
final class WatchedReplica implements ReplicaInPipelineInterface {
  /** What is done in the receiver's thread, which waits for it. An exception fails the replica. */
  interface Watch {
    /** The files have this length, checksums included, and the packets up to it are acknowledged next. */
    void flushed(long length) throws IOException;

    /** Likewise, and the writer wants what there is to last. */
    void synced(long length) throws IOException;
  }

  private final ReplicaInPipelineInterface replica;
  private final Watch watch;

  private WatchedReplica(ReplicaInPipelineInterface replica, Watch watch) {
    this.replica = replica;
    this.watch = watch;
  }

  /** A replica to be written; without a watch (null) it is what was made. */
  static ReplicaHandler handler(ReplicaHandler made, Watch watch) {
    if (watch == null) {
      return made;
    }
    return new ReplicaHandler(new WatchedReplica(made.getReplica(), watch), null) {
      @Override
      public void close() throws IOException {
        made.close();
      }
    };
  }

  private final class Out extends FileOutputStream {
    private Out(FileDescriptor file) {
      super(file);
    }

    /** Called after each packet: what was written is in the file, and so are its checksums. */
    @Override
    public void flush() throws IOException {
      super.flush();
      watch.flushed(getNumBytes());
    }
  }

  private final class Streams extends ReplicaOutputStreams {
    private Streams(FileDescriptor data, ReplicaOutputStreams streams) {
      super(new Out(data), streams.getChecksumOut(), streams.getChecksum(), streams.isTransientStorage());
    }

    /** Called after the checksums were forced. */
    @Override
    public void syncDataOut() throws IOException {
      super.syncDataOut();
      watch.synced(getNumBytes());
    }
  }

  @Override
  public ReplicaOutputStreams createStreams(boolean isNew, DataChecksum checksum) throws IOException {
    ReplicaOutputStreams streams = replica.createStreams(isNew, checksum);
    return new Streams(((FileOutputStream) streams.getDataOut()).getFD(), streams);
  }

  // The replica's own.

  @Override
  public void setNumBytes(long bytes) {
    replica.setNumBytes(bytes);
  }

  @Override
  public long getBytesAcked() {
    return replica.getBytesAcked();
  }

  @Override
  public void setBytesAcked(long bytes) {
    replica.setBytesAcked(bytes);
  }

  @Override
  public void releaseAllBytesReserved() {
    replica.releaseAllBytesReserved();
  }

  @Override
  public void setLastChecksumAndDataLen(long length, byte[] last) {
    replica.setLastChecksumAndDataLen(length, last);
  }

  @Override
  public ChunkChecksum getLastChecksumAndDataLen() {
    return replica.getLastChecksumAndDataLen();
  }

  @Override
  public OutputStream createRestartMetaStream() throws IOException {
    return replica.createRestartMetaStream();
  }

  @Override
  public long getBlockId() {
    return replica.getBlockId();
  }

  @Override
  public long getGenerationStamp() {
    return replica.getGenerationStamp();
  }

  @Override
  public ReplicaState getState() {
    return replica.getState();
  }

  @Override
  public long getNumBytes() {
    return replica.getNumBytes();
  }

  @Override
  public long getBytesOnDisk() {
    return replica.getBytesOnDisk();
  }

  @Override
  public long getVisibleLength() {
    return replica.getVisibleLength();
  }

  @Override
  public String getStorageUuid() {
    return replica.getStorageUuid();
  }

  @Override
  public boolean isOnTransientStorage() {
    return replica.isOnTransientStorage();
  }

  @Override
  public String toString() {
    return replica.toString();
  }
}
