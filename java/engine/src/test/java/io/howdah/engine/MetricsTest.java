package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.ManagementFactory;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

class MetricsTest {
  @Test
  void countersAreSeenThroughJmx() throws Exception {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectName pattern = new ObjectName("io.howdah:type=Engine,*");
    try (Engine engine = Engine.create(Pair.conf("self").jmx(true).name("metrics"))) {
      ObjectName name = beans.queryNames(pattern, null).iterator().next();
      assertThat(name.getKeyProperty("name")).contains("metrics");
      EngineMXBean bean = JMX.newMXBeanProxy(beans, name, EngineMXBean.class);
      RegisteredBuffer buffer = engine.allocate(1000);
      assertThat(bean.getCounters().get("memory.used.now")).isGreaterThanOrEqualTo(1000);
      assertThat(bean.getOptions()).containsEntry("hadoop.rdma.transport", "self");
      assertThat(bean.getOpenObjects()).isPositive();
      assertThat(bean.getLeaks()).isEqualTo(Engine.leaks());
      buffer.release();
    }
    assertThat(beans.queryNames(pattern, null)).isEmpty();
  }

  @Test
  void sizesArePredictedFromHistory() throws Exception {
    try (Engine engine = Engine.create(Pair.conf("self"))) {
      assertThat(engine.predictSize(5, 100)).isEqualTo(100);
      for (int i = 0; i < 10; i++) {
        engine.recordSize(5, 5000);
      }
      assertThat(engine.predictSize(5, 100)).isGreaterThanOrEqualTo(5000);
    }
  }

  @Test
  void threadsAreBoundOnlyIfAskedFor() throws Exception {
    try (Engine engine = Engine.create(Pair.conf("self"))) {
      assertThat(engine.affinity()).startsWith("none");
      assertThat(engine.declareCommunicationThread()).isEqualTo(-1);
    }
    assertThatThrownBy(() -> Engine.create(Pair.conf("self", "affinity.policy=o9")))
        .isInstanceOf(EngineException.class).hasMessageContaining("o9");
    try (Engine engine = Engine.create(Pair.conf("self", "affinity.policy=o2occ"))) {
      assertThat(engine.affinity()).startsWith("o2occ");
      int[] set = Threads.supply(() -> {
        int first = engine.declareCommunicationThread();
        int second = engine.declareCommunicationThread();
        engine.releaseCommunicationThread();
        return new int[] {first, second};
      }).get(Pair.PATIENCE, TimeUnit.MILLISECONDS);
      assertThat(set[0]).isGreaterThanOrEqualTo(0).isEqualTo(set[1]);
    }
  }

  @Test
  void numbersOfRemovedObjectsFindNothing() {
    Slots slots = new Slots();
    Random random = new Random(3);
    java.util.Map<Long, Object> model = new java.util.HashMap<>();
    Set<Long> gone = new HashSet<>();
    for (int i = 0; i < 20_000; i++) {
      if (model.isEmpty() || random.nextInt(5) < 3) {
        Object object = new Object();
        model.put(slots.add(object), object);
      } else {
        Long id = model.keySet().iterator().next();
        assertThat(slots.remove(id)).isSameAs(model.remove(id));
        assertThat(slots.remove(id)).isNull();
        gone.add(id);
      }
    }
    model.forEach((id, object) -> assertThat(slots.get(id)).isSameAs(object));
    gone.forEach(id -> assertThat(slots.get(id)).isNull());
    assertThat(slots.size()).isEqualTo(model.size());
    assertThat(slots.all()).containsExactlyInAnyOrderElementsOf(model.values());
    assertThat(slots.get(-1)).isNull();
    assertThat(slots.get(Long.MAX_VALUE)).isNull();
  }
}
