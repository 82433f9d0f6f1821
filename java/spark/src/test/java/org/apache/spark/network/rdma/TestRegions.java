package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineOption;
import org.apache.spark.memory.MemoryManager;

/** Memory for map output without a block transfer service. */
public final class TestRegions {
  private TestRegions() {
  }

  /** An engine of its own. */
  public static Engine engine(String limit) throws Exception {
    return Engine.create(TestService.engineConf().set(EngineOption.MEMORY_LIMIT, limit));
  }

  /** A part of the engine's memory. */
  public static OutputRegions of(Engine engine, double fraction, MemoryManager memory) {
    return new OutputRegions(engine, new MemoryShares(engine, true, fraction), memory, new BlockMetrics());
  }
}
