package io.howdah.bench.hdfs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What is refused before a cluster is asked for anything. */
class HdfsBenchTest {
  private static String refusal(String... arguments) {
    StringWriter words = new StringWriter();
    int status = new CommandLine(new HdfsBench()).setErr(new PrintWriter(words, true)).execute(arguments);
    assertThat(status).isEqualTo(2);
    return words.toString();
  }

  @Test
  void clientsThatDoNotFitIntoTheHeapAreRefused() {
    assertThat(HdfsBench.lackOfHeap(64, 576L << 20)).isNull();
    assertThat(HdfsBench.lackOfHeap(64, (576L << 20) - 1))
        .isEqualTo("--clients 64: they may take 576 MB of heap, and this JVM has 575; set HOWDAH_OPTS=-Xmx648m");
  }

  @Test
  void valuesOutOfRangeAreNamed() {
    assertThat(refusal("--clients", "4,1025")).contains("--clients from 1 to 1024");
    assertThat(refusal("--measure", "everything")).contains("--measure everything: one of");
  }
}
