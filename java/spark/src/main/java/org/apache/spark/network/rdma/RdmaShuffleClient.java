package org.apache.spark.network.rdma;

import org.apache.spark.SecurityManager;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.ExternalShuffleClient;
import org.apache.spark.network.util.TransportConf;

/**
 * Asks external shuffle services for the files of their executors: over the engine those that take our greeting, others
 * as stock Spark does. Executors register as ever. Thread-safe.
 */
public final class RdmaShuffleClient extends ExternalShuffleClient {
  private final CountedBlockTransferService service;
  /** The same, unless its engine can't be used. */
  private final RdmaBlockTransferService rdma;

  private RdmaShuffleClient(TransportConf conf, SecurityManager security, CountedBlockTransferService service) {
    super(conf, security, security.isAuthenticationEnabled(), security.isSaslEncryptionEnabled());
    this.service = service;
    this.rdma = service instanceof RdmaBlockTransferService ? (RdmaBlockTransferService) service : null;
  }

  /** A client beside the block transfer service, whose sessions it shares; stock Spark's beside stock Spark's. */
  public static ExternalShuffleClient create(TransportConf conf, SecurityManager security,
      BlockTransferService service) {
    if (service instanceof CountedBlockTransferService) {
      return new RdmaShuffleClient(conf, security, (CountedBlockTransferService) service);
    }
    return new ExternalShuffleClient(conf, security, security.isAuthenticationEnabled(),
        security.isSaslEncryptionEnabled());
  }

  @Override
  public void fetchBlocks(String host, int port, String executor, String[] blocks, BlockFetchingListener listener) {
    RdmaBlockTransferService.Stock stock =
        (some, hears) -> super.fetchBlocks(host, port, executor, some, service.counted(hears));
    if (rdma == null) {
      stock.fetch(blocks, listener);
    } else {
      rdma.fetch(host, port, executor, blocks, listener, stock);
    }
  }
}
