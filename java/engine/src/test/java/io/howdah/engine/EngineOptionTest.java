package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EngineOptionTest {
  @Test
  void theCommittedTableIsTheLibrarys() throws Exception {
    Engine.ensureAvailable();
    List<String> library = new ArrayList<>();
    String[] row;
    for (int i = 0; (row = Native.optionAt(i)) != null; i++) {
      library.add(String.join("; ", row[0], row[1], row[2], row[3], row[4]));
    }
    List<String> ours = new ArrayList<>();
    for (EngineOption option : EngineOption.values()) {
      ours.add(String.join("; ", option.key(), option.environmentName(), option.type(), option.defaultValue(),
          option.range()));
    }
    assertThat(ours).as("run ci/lib/java_options.py, which says how").containsExactlyElementsOf(library);
  }

  @Test
  void valuesInForceAreShown() throws Exception {
    try (Engine engine = Engine.create(Pair.conf("self", "chunk.size=64k"))) {
      assertThat(engine.option(EngineOption.CHUNK_SIZE)).isEqualTo("64k");
      assertThat(engine.option(EngineOption.STREAM_WINDOW)).isEqualTo(EngineOption.STREAM_WINDOW.defaultValue());
      assertThat(engine.transports()).containsEntry("self", "").containsKey("shm");
      assertThat(engine.transports().get("shm")).contains("switched off");
    }
  }

  @Test
  void aMapOfTheHostIsTakenAsItIs() throws Exception {
    Map<String, String> site = new HashMap<>();
    site.put("hadoop.rdma.chunk.size", "128k");
    site.put("hadoop.tmp.dir", "/tmp");
    EngineConf.from(site.entrySet(), "core-site.xml").validate();
    site.put("hadoop.rdma.chunk.sise", "128k");
    assertThatThrownBy(() -> EngineConf.from(site.entrySet(), "core-site.xml").validate())
        .isInstanceOf(EngineException.class).hasMessageContaining("chunk.sise").hasMessageContaining("chunk.size")
        .hasMessageContaining("core-site.xml");
  }

  @Test
  void badValuesAreRefusedWithTheirRange() {
    assertThatThrownBy(() -> Engine.create(Pair.conf("shm", "chunk.size=1"))).isInstanceOf(EngineException.class)
        .hasMessageContaining("chunk.size").hasMessageContaining("4k .. 64m").hasMessageContaining("the test");
    assertThatThrownBy(() -> Engine.create(Pair.conf("warp"))).isInstanceOf(EngineException.class)
        .hasMessageContaining("warp");
  }

  @Test
  void countersOfTheEnumExist() throws Exception {
    try (Engine engine = Engine.create(Pair.conf("self"))) {
      Counters counters = engine.counters();
      for (Counter counter : Counter.values()) {
        assertThat(counters.asMap()).containsKey(counter.key());
      }
      assertThat(counters.get(Counter.LINKS_NOW)).isZero();
    }
  }
}
