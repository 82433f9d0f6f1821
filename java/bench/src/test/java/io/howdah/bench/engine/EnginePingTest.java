package io.howdah.bench.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class EnginePingTest {
  @Test
  @Timeout(60)
  void bothWaysAreMeasuredForEachSize() throws Exception {
    PipedInputStream said = new PipedInputStream();
    PrintStream says = new PrintStream(new PipedOutputStream(said), true);
    Throwable[] failed = new Throwable[1];
    Thread server = new Thread(() -> {
      try {
        EnginePing.serve(says);
      } catch (Exception e) {
        failed[0] = e;
      }
    });
    server.start();
    int port = new Scanner(said, "US-ASCII").nextInt();
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    EnginePing.measure(port, 20, new int[] {64, 100_000}, new PrintStream(out));
    server.join(TimeUnit.SECONDS.toMillis(30));
    assertThat(server.isAlive()).isFalse();
    assertThat(failed[0]).isNull();
    String[] lines = out.toString("US-ASCII").split("\n");
    assertThat(lines).hasSize(4);
    assertThat(lines[0]).matches("(self|shm)\t64\t[0-9.]+\t[0-9.]+");
    assertThat(lines[3]).matches("tcp\t100000\t[0-9.]+\t[0-9.]+");
  }

  @Test
  void percentilesAreHalfOfARoundTrip() {
    assertThat(EnginePing.oneWay(new long[] {1000, 2000, 3000}, 50)).isEqualTo(1.0);
    assertThat(EnginePing.oneWay(new long[0], 50)).isNaN();
  }
}
