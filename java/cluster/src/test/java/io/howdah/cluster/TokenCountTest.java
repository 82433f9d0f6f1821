package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.StringTokenizer;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenCountTest {
  @TempDir
  private Path folder;

  private Path text(String name, String content) throws IOException {
    return Files.write(folder.resolve(name), content.getBytes(StandardCharsets.UTF_8));
  }

  /** What Hadoop's WordCount would say. */
  private static List<String> asTokenizer(String... contents) {
    Map<String, Integer> counts = new TreeMap<>();
    for (String content : contents) {
      StringTokenizer tokens = new StringTokenizer(content);
      while (tokens.hasMoreTokens()) {
        counts.merge(tokens.nextToken(), 1, Integer::sum);
      }
    }
    return counts.entrySet().stream().map(e -> e.getKey() + "\t" + e.getValue()).collect(Collectors.toList());
  }

  private List<String> counted(Path... files) throws IOException {
    Path out = folder.resolve("out");
    TokenCount.count(Arrays.asList(files), out);
    return Files.readAllLines(out);
  }

  @Test
  void coreutilsAgreeWithTheTokenizer() throws IOException {
    String odd = "  a b\tb\r\nc\fc c\n\n\n'quoted' -n \\n %s 12 \u00e4\u00f6 \u4e2d\u6587 a,b x\u00a0y x\u000by end";
    assertThat(counted(text("odd", odd))).hasSameElementsAs(asTokenizer(odd)).hasSameSizeAs(asTokenizer(odd));
  }

  @Test
  void coreutilsAgreeWithTheTokenizerOnRandomText() throws IOException {
    Random random = new Random(1);
    StringBuilder any = new StringBuilder();
    for (int i = 0; i < 50000; i++) {
      any.append(" \t\n\r\fabcAB'\"\\$*-.0\u00e9".charAt(random.nextInt(19)));
    }
    assertThat(counted(text("any", any.toString()))).hasSameElementsAs(asTokenizer(any.toString()));
  }

  @Test
  void tokensDoNotSpanFiles() throws IOException {
    assertThat(counted(text("1", "a b"), text("2", "b c"))).containsExactly("a\t1", "b\t2", "c\t1");
  }

  @Test
  void totalsAddUp() throws IOException {
    assertThat(TokenCount.totals(text("r", "a\t1\nb\t20\n"))).containsExactly(2, 21);
  }

  @Test
  void textThatIsNotUtf8IsRefused() throws IOException {
    Path latin = Files.write(folder.resolve("latin"), "\u00e4 b".getBytes(StandardCharsets.ISO_8859_1));
    assertThatThrownBy(() -> TokenCount.requireUtf8(latin)).isInstanceOf(ClusterException.class)
        .hasMessageContaining("latin").hasMessageContaining("UTF-8");
    TokenCount.requireUtf8(text("utf8", String.join("", Collections.nCopies(70000, "\u00e4\u4e2d"))));
  }

  @Test
  void aFolderWithoutFilesIsRefused() {
    assertThatThrownBy(() -> TokenCount.files(folder)).isInstanceOf(ClusterException.class);
    assertThatThrownBy(() -> TokenCount.files(folder.resolve("absent"))).isInstanceOf(ClusterException.class);
  }
}
