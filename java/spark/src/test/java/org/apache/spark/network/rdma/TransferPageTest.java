package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import scala.xml.XML;

class TransferPageTest {
  private static final String CLASS = TransferListener.class.getName();

  private static SparkConf conf(String... words) {
    SparkConf conf = new SparkConf(false);
    for (int i = 0; i < words.length; i += 2) {
      conf.set(words[i], words[i + 1]);
    }
    TransferListener.add(conf);
    return conf;
  }

  @Test
  void onlyADriverListens() {
    assertThat(conf("spark.executor.id", "driver").get("spark.extraListeners")).isEqualTo(CLASS);
    assertThat(conf("spark.executor.id", "driver", "spark.extraListeners", "a.B").get("spark.extraListeners"))
        .isEqualTo("a.B," + CLASS);
    assertThat(conf("spark.executor.id", "driver", "spark.extraListeners", CLASS).get("spark.extraListeners"))
        .isEqualTo(CLASS);
    assertThat(TransferListener.isWanted(conf("spark.executor.id", "3"))).isFalse();
  }

  @Test
  void eachExecutorHasARow() {
    MetricRegistry registry = new MetricRegistry();
    registry.counter("engine.bytes").inc(3 << 20);
    registry.counter("netty.blocks").inc(7);
    registry.counter("fallbacks").inc(2);
    registry.register("engine.memory.pinned", (Gauge<Long>) () -> 5L << 20);
    TransferReport report = new TransferReport("a<b", registry);
    assertThat(report.saysAsMuchAs(new TransferReport("a<b", registry))).isTrue();
    registry.counter("fallbacks").inc();
    assertThat(report.saysAsMuchAs(new TransferReport("a<b", registry))).isFalse();
    Map<String, TransferReport> reports = new TreeMap<>(Collections.singletonMap("a<b", report));
    String table = TransferPage.table(reports, Collections.singletonMap("a<b", 1500L));
    assertThat(table).contains("<td>a&lt;b</td><td>3.0 MB</td><td>0</td>", "<td>7</td><td>2</td><td>1.5 s</td>",
        "<td>5.0 MB</td></tr>");
    assertThat(XML.loadString(table)).isNotNull();
  }
}
