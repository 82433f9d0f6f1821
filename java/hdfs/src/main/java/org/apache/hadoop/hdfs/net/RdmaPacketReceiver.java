package org.apache.hadoop.hdfs.net;

import io.howdah.engine.RegisteredBuffer;
import io.howdah.upgrade.Traffic;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketReceiver;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.apache.hadoop.util.DataChecksum;

/**
 * Receives the packets of a block. One that came as a message of its own, which is how clients and DataNodes of ours
 * send them, is left where it arrived: its data is read there and the message goes to the next DataNode. Any other one
 * (small, or in several messages) is put together by the superclass. Where there are stages, what was done with one
 * such packet is done with those that follow by another thread, ahead of this one.
 */
final class RdmaPacketReceiver extends PacketReceiver {
  private final RdmaInput in;
  private final boolean beside;
  private final RdmaStages stages;
  private final Traffic traffic;
  private final MutableCounterLong inPlace = RdmaMetrics.get().serverPacketsInPlace();
  /** The packet in the engine's memory, or null. */
  private RdmaPacket packet;
  /** What was done with it. */
  private RdmaDataOutput forwardedTo;
  private DataChecksum verifiedWith;
  /** Who receives ahead, or null. */
  private RdmaStage stage;

  RdmaPacketReceiver(RdmaInput in, boolean beside) {
    super(false);
    this.in = in;
    this.beside = beside;
    this.stages = in.stages();
    this.traffic = in.writes();
    traffic.connection(); // a client or DataNode writes one block over each
    traffic.call(0);
  }

  /** Whether the replica is written beside others. */
  boolean isBeside() {
    return beside;
  }

  @Override
  public void receiveNextPacket(InputStream from) throws IOException {
    boolean goesOn = packet != null;
    drop();
    if (goesOn && stage == null && stages != null) {
      RdmaStage ahead = new RdmaStage(in, forwardedTo, verifiedWith, stages.queue());
      stage = stages.start(ahead) ? ahead : null;
    }
    forwardedTo = null;
    verifiedWith = null;
    Object next = stage != null ? takeStaged() : in.take();
    if (next instanceof RdmaPacket) {
      packet = (RdmaPacket) next;
    } else if (next instanceof RegisteredBuffer) {
      adopt((RegisteredBuffer) next);
    }
    if (packet == null) {
      super.receiveNextPacket(from);
    } else {
      inPlace.incr();
    }
    traffic.bytes(getDataSlice().remaining());
  }

  private Object takeStaged() throws IOException {
    boolean goesOn = false;
    try {
      Object next = stage.take();
      goesOn = next instanceof RdmaPacket;
      return next;
    } finally {
      if (!goesOn) {
        endStage();
      }
    }
  }

  private void adopt(RegisteredBuffer message) throws IOException {
    try {
      packet = RdmaPacket.of(message);
    } finally {
      if (packet == null) {
        in.giveBack(message);
      }
    }
  }

  @Override
  public PacketHeader getHeader() {
    return packet != null ? packet.header : super.getHeader();
  }

  @Override
  public ByteBuffer getDataSlice() {
    return packet != null ? packet.data : super.getDataSlice();
  }

  @Override
  public ByteBuffer getChecksumSlice() {
    return packet != null ? packet.checksums : super.getChecksumSlice();
  }

  @Override
  public void mirrorPacketTo(DataOutputStream mirror) throws IOException {
    if (packet == null) {
      super.mirrorPacketTo(mirror);
    } else if (packet.failure != null) {
      throw packet.failure;
    } else if (mirror instanceof RdmaDataOutput) {
      if (!packet.forwarded) {
        ((RdmaDataOutput) mirror).send(packet.message);
      }
      forwardedTo = (RdmaDataOutput) mirror;
    } else {
      byte[] copy = new byte[packet.message.length()];
      packet.message.slice(0, copy.length).get(copy);
      mirror.write(copy);
    }
  }

  /** Whether the packet's checksums are known to be right; from now on they are to be looked at. */
  boolean isVerified(DataChecksum with) {
    verifiedWith = with;
    return packet != null && packet.verified;
  }

  /** Those of the packet, of the kind that its data is. @param copy as {@link #getChecksumSlice} gave it */
  ByteBuffer sumsToVerify(ByteBuffer copy) {
    return packet != null ? packet.checksumsInPlace : copy;
  }

  private void drop() {
    RdmaPacket done = packet;
    packet = null;
    if (done != null) {
      done.message.release();
    }
  }

  private void endStage() {
    RdmaStage ended = stage;
    stage = null;
    if (ended != null) {
      ended.stop();
    }
  }

  /** By the thread that receives, or by another one after the last packet, which is never here. */
  @Override
  public void close() {
    endStage();
    drop();
    super.close();
  }
}
