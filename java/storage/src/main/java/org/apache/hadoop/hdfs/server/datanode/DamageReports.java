package org.apache.hadoop.hdfs.server.datanode;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.util.Time;

/** What a DataNode and its NameNodes tell each other of damaged replicas, where upstream's reports do not do. */
public final class DamageReports {
  private static final long SENT_MS = 10_000;
  private static final int ANSWER_MS = 10_000;

  private DamageReports() {
  }

  /**
   * Tells the NameNodes that a replica is whole of which they may have heard that it is damaged. They forget that when
   * it is gone, and not when it is reported once more, so they hear first that it is gone. Of both reports at once only
   * the last one would be sent.
   */
  public static void madeAnew(DataNode datanode, ExtendedBlock block, String storage) {
    BPOfferService pool = datanode.getBPOfferService(block.getBlockPoolId());
    if (pool == null) {
      return; // the pool ends: the next start reports all
    }
    pool.notifyNamenodeDeletedBlock(block, storage);
    long end = Time.monotonicNow() + SENT_MS;
    for (BPServiceActor actor : pool.getBPServiceActors()) {
      send(actor.getIbrManager(), end);
    }
    pool.notifyNamenodeReceivedBlock(block, null, storage, false);
  }

  private static void send(IncrementalBlockReportManager reports, long end) {
    reports.triggerIBR(true);
    while (reports.sendImmediately() && Time.monotonicNow() < end) {
      try {
        Thread.sleep(10);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /**
   * Blocks of which the active NameNode has no replica that is not damaged, of the first hundred files that have such
   * ones. The DataNode's user has to be one of HDFS's superusers.
   *
   * @throws IOException if no NameNode answers, or the active one refuses
   */
  public static List<Block> damaged(DataNode datanode, String pool) throws IOException {
    BPOfferService offer = datanode.getBPOfferService(pool);
    IOException failure = null;
    if (offer != null) {
      for (BPServiceActor actor : offer.getBPServiceActors()) {
        try {
          return damaged(actor.getNNSocketAddress(), datanode.getConf(), pool);
        } catch (IOException e) {
          failure = e; // as of one on standby
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
    return new ArrayList<>();
  }

  private static List<Block> damaged(InetSocketAddress nameNode, Configuration conf, String pool) throws IOException {
    Configuration impatient = new Configuration(conf);
    impatient.setInt("ipc.client.connect.max.retries", 1);
    impatient.setInt("ipc.client.connect.max.retries.on.timeouts", 1);
    impatient.setInt("ipc.client.connect.timeout", ANSWER_MS);
    impatient.setInt("ipc.client.rpc-timeout.ms", ANSWER_MS);
    List<Block> found = new ArrayList<>();
    try (DFSClient client = new DFSClient(nameNode, impatient)) {
      String[] files = client.listCorruptFileBlocks("/", null).getFiles();
      for (String file : new LinkedHashSet<>(Arrays.asList(files))) {
        try {
          for (LocatedBlock block : client.getLocatedBlocks(file, 0, Long.MAX_VALUE).getLocatedBlocks()) {
            if (block.isCorrupt() && block.getBlock().getBlockPoolId().equals(pool)) {
              found.add(block.getBlock().getLocalBlock());
            }
          }
        } catch (FileNotFoundException e) {
          continue; // it was deleted meanwhile
        }
      }
    }
    return found;
  }
}
