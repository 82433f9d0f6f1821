package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Values, ranges and precedence. */
class OptionTest {
  private static final Option<Long> TIME = Option.millis("a.time", 7, 1, 100_000, "").alias("an.older.time")
      .environment("HOWDAH_A_TIME");

  @Test
  void valuesHaveUnits() throws Exception {
    assertThat(TIME.parse("20", "x", "y")).isEqualTo(20);
    assertThat(TIME.parse(" 2s ", "x", "y")).isEqualTo(2000);
    assertThat(TIME.parse("1min", "x", "y")).isEqualTo(60_000);
    Option<Long> size = Option.bytes("a.size", 0, 0, 1L << 40, "");
    assertThat(size.parse("512k", "x", "y")).isEqualTo(512 << 10);
    assertThat(size.parse("2 MB", "x", "y")).isEqualTo(2 << 20);
    assertThat(size.parse("12", "x", "y")).isEqualTo(12);
    assertThat(Option.flag("a.flag", false, "").parse("TRUE", "x", "y")).isTrue();
    assertThat(Option.mode("a.mode", Mode.AUTO, "").parse("Required", "x", "y")).isEqualTo(Mode.REQUIRED);
  }

  @Test
  void badValuesAreRefusedWithNameValueSourceAndRange() {
    for (String bad : Arrays.asList("0", "100001", "-1", "soon", "1.5s", "2m5", "99999999999999999999", "9 years")) {
      assertThatThrownBy(() -> TIME.read(new Given("a.time=" + bad))).as(bad).isInstanceOf(BadOptionException.class)
          .hasMessage("a.time=" + bad + " (from test-site.xml): milliseconds from 1 to 100000 is needed");
    }
    assertThatThrownBy(() -> TIME.read(new Given("an.older.time=x"))).hasMessageContaining("an.older.time=x");
    assertThatThrownBy(() -> TIME.read(new Given("HOWDAH_A_TIME=x")))
        .hasMessageContaining("HOWDAH_A_TIME=x (from the environment)");
    assertThatThrownBy(() -> Option.share("a.share", 0.5, "").read(new Given("a.share=2")))
        .hasMessageEndingWith(": a number above 0 and at most 1 is needed");
    assertThatThrownBy(() -> Option.choice("a.word", "x", "", "x", "y").read(new Given("a.word=z")))
        .hasMessageEndingWith(": x or y is needed");
    assertThatThrownBy(() -> Option.choice("a.word", "x", "", "x", "y", "z").read(new Given("a.word=a")))
        .hasMessageEndingWith(": x, y or z is needed");
    assertThatThrownBy(() -> Option.bytes("b", 0, 0, Long.MAX_VALUE, "").parse("99999999999999t", "b", "y"))
        .isInstanceOf(BadOptionException.class);
  }

  @Test
  void theEnvironmentComesBeforeTheKeyAndTheKeyBeforeOlderNames() throws Exception {
    assertThat(TIME.read(new Given())).isEqualTo(7);
    assertThat(TIME.read(new Given("an.older.time=1"))).isEqualTo(1);
    assertThat(TIME.read(new Given("an.older.time=1", "a.time=2"))).isEqualTo(2);
    assertThat(TIME.read(new Given("an.older.time=1", "a.time=2", "HOWDAH_A_TIME=3"))).isEqualTo(3);
    assertThat(TIME.read(new Given("a.time= "))).isEqualTo(7);
  }

  @Test
  void theTableHasEachNameOnce() throws Exception {
    Set<String> seen = new HashSet<>();
    for (Option<?> option : Options.all().values()) {
      assertThat(seen.add(option.key())).as(option.key()).isTrue();
      option.aliases().forEach(alias -> assertThat(seen.add(alias)).as(alias).isTrue());
      assertThat(option.help()).as(option.key()).isNotEmpty();
      assertThat(Options.accepted()).doesNotContainKey(option.key());
      if (option.defaultValue() != null) {
        Object parsed = option.parse(String.valueOf(option.defaultValue()), option.key(), "the table");
        assertThat(parsed).as(option.key()).isEqualTo(option.defaultValue());
      }
    }
  }

  @Test
  void theGuidesNameEveryOption() throws Exception {
    StringBuilder guides = new StringBuilder();
    Path folder = Paths.get(System.getProperty("howdah.root"), "docs", "guide");
    try (DirectoryStream<Path> pages = Files.newDirectoryStream(folder, "*.md")) {
      for (Path page : pages) {
        guides.append(new String(Files.readAllBytes(page), StandardCharsets.UTF_8));
      }
    }
    Set<String> names = new HashSet<>(Options.all().keySet());
    names.addAll(Options.accepted().keySet());
    names.removeAll(Arrays.asList("mapred.rdma.required", "mapred.rdma.fallback.remember")); // of a shuffle to come
    assertThat(guides.toString()).contains(names);
  }

  @Test
  void misspeltNamesFindTheNearest() {
    assertThat(Names.nearest("hadoop.rdma.enable", Options.names())).isEqualTo("hadoop.rdma.enabled");
    assertThat(Names.nearest("dfs.rdma.packetsize", Options.names())).isEqualTo("dfs.rdma.packet.size");
    assertThat(Names.nearest("spark.shuffle.rdma.chunk.sise", Options.names()))
        .isEqualTo("spark.shuffle.rdma.chunk.size");
  }
}
