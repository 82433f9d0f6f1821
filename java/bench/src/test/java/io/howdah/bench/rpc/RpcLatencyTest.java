package io.howdah.bench.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class RpcLatencyTest {
  @Test
  void measuresEverySizeAgainstARealServer() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (EchoServer server = new EchoServer(new Configuration(), 1)) {
      RpcLatency.measure(server.port(), 20, new int[] {1, 4096}, new PrintStream(bytes, true, "UTF-8"));
    }
    String[] lines = bytes.toString("UTF-8").split("\n");
    assertThat(lines).hasSize(2);
    assertThat(lines[0]).matches("1(\t[0-9.]+){3}");
    assertThat(lines[1]).startsWith("4096\t");
  }
}
