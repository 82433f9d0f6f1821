package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Several users of one process's engine, each with options of its own. */
class MergeTest {
  private final List<Engine> engines = new ArrayList<>();

  private Engine acquire(EngineConf conf) throws Exception {
    Engine engine = Engine.acquire(conf);
    engines.add(engine);
    return engine;
  }

  private static EngineConf with(String... options) {
    return Pair.conf(Transports.LINKED, options);
  }

  @AfterEach
  void theLastOneEndsIt() throws Exception {
    Collections.reverse(engines);
    engines.forEach(Engine::close);
    try (Engine fresh = Engine.acquire(with("memory.limit=96m"))) {
      assertThat(fresh.option(EngineOption.MEMORY_LIMIT)).isEqualTo("96m"); // it was made anew
    }
  }

  @Test
  void theLargerMemoryLimitIsInForce() throws Exception {
    Engine command = acquire(with("memory.limit=64m"));
    assertThatThrownBy(() -> command.allocate(65 << 20)).isInstanceOf(MemoryLimitException.class);
    Engine daemon = acquire(with("memory.limit=1g"));
    acquire(with("memory.limit=128m"));
    acquire(with());
    assertThat(command.option(EngineOption.MEMORY_LIMIT)).isEqualTo("1g");
    assertThat(daemon.counters().asMap()).containsEntry("memory.limit", 1L << 30);
    command.allocate(65 << 20).close();
  }

  @Test
  void oneThatIsSecureSwitchesRemoteAccessOff() throws Exception {
    Engine first = acquire(with());
    assertThat(first.option(EngineOption.VERBS_REMOTE_ACCESS)).isEqualTo("true");
    acquire(with().secure(true));
    acquire(with("verbs.remote.access=true"));
    for (EngineOption access : EngineConf.REMOTE_ACCESS) {
      assertThat(first.option(access)).isEqualTo("false");
    }
  }

  @Test
  void whoSetsRemoteAccessByNameHasIt() throws Exception {
    Engine engine = acquire(with("verbs.remote.access=true").secure(true));
    assertThat(engine.option(EngineOption.VERBS_REMOTE_ACCESS)).isEqualTo("true");
    assertThat(engine.option(EngineOption.UDAPL_REMOTE_ACCESS)).isEqualTo("false");
  }

  @Test
  void anotherNetworkIsRefusedByName() throws Exception {
    Engine engine = acquire(with("verbs.port=2"));
    for (String[] wish : new String[][] {{"transport", "self"}, {"verbs.link.layer", "infiniband"},
        {"verbs.device", "mlx5_1"}}) {
      assertThatThrownBy(() -> Engine.acquire(with(wish[0] + "=" + wish[1], "memory.limit=2g")))
          .isInstanceOf(EngineException.class).hasMessageContaining("hadoop.rdma." + wish[0] + "=" + wish[1])
          .hasMessageContaining("from the test").hasMessageContaining("made before, with "
              + engine.option(EngineOption.valueOf(wish[0].replace('.', '_').toUpperCase())));
    }
    assertThat(engine.option(EngineOption.MEMORY_LIMIT)).isEqualTo("1g"); // nothing was changed for them
    acquire(with("transport=auto", "verbs.link.layer=any", "verbs.port=0"));
  }

  @Test
  void theMoreTalkativeLevelIsInForce() throws Exception {
    Engine engine = acquire(with("log.level=error"));
    acquire(with("log.level=info"));
    acquire(with("log.level=warn"));
    assertThat(engine.option(EngineOption.LOG_LEVEL)).isEqualTo("info");
  }

  @Test
  void aLaterOneMayShowTheCounters() throws Exception {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectName pattern = new ObjectName("io.howdah:type=Engine,name=\"shown\",*");
    acquire(with().name("shown"));
    assertThat(beans.queryNames(pattern, null)).isEmpty();
    acquire(with().name("another").jmx(true));
    acquire(with().jmx(true));
    assertThat(beans.queryNames(pattern, null)).hasSize(1);
  }

  @Test
  void badValuesOfALaterOneAreRefused() throws Exception {
    acquire(with());
    assertThatThrownBy(() -> Engine.acquire(with("chunk.size=1"))).isInstanceOf(EngineException.class)
        .hasMessageContaining("4k .. 64m");
  }
}
