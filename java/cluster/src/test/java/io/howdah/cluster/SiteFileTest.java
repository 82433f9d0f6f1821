package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SiteFileTest {
  @TempDir
  private Path folder;

  private Path file(String text) throws IOException {
    return Files.write(folder.resolve("core-site.xml"), text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void whatIsWrittenIsReadBack() throws IOException {
    Map<String, String> odd = new LinkedHashMap<>();
    odd.put("a", "<&>\"' \u00fc");
    odd.put("b", "");
    Path file = folder.resolve("odd.xml");
    new SiteFile().set(odd).write(file);
    assertThat(SiteFile.read(file).properties()).isEqualTo(odd);
  }

  @Test
  void commentsDescriptionsAndFinalStay() throws IOException {
    String text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- For a test -->\n<configuration>\n"
        + "  <!-- A comment, with <tags>.\n  -->\n"
        + "  <property>\n    <name>a</name>\n    <value>1</value>\n    <final>true</final>\n"
        + "    <description>What a is.</description>\n  </property>\n</configuration>\n";
    SiteFile site = SiteFile.read(file(text));
    assertThat(site.title()).isEqualTo("For a test");
    Path copy = folder.resolve("copy.xml");
    site.write(copy);
    assertThat(new String(Files.readAllBytes(copy), StandardCharsets.UTF_8)).isEqualTo(text);
  }

  @Test
  void aPropertyStandsOnceHoweverOftenItIsSet() throws IOException {
    SiteFile base = SiteFile.read(file("<configuration><property><name>a</name><value>1</value></property>"
        + "<property><name>b</name><value>1</value></property></configuration>"));
    SiteFile over = new SiteFile().set("a", "2").set("c", "2");
    Path laid = folder.resolve("laid.xml");
    base.lay(over).set("a", "3").write(laid);
    assertThat(SiteFile.read(laid).properties()).containsExactly(entry("a", "3"), entry("b", "1"), entry("c", "2"));
    assertThat(new String(Files.readAllBytes(laid), StandardCharsets.UTF_8)).containsOnlyOnce("<name>a</name>");
  }

  private static Map.Entry<String, String> entry(String name, String value) {
    return org.assertj.core.api.Assertions.entry(name, value);
  }

  @Test
  void aMalformedFileIsNamedWithLineAndCause() throws IOException {
    Path file = file("<configuration>\n<property><name>a</name>\n<value>1</property></configuration>");
    assertThatThrownBy(() -> SiteFile.read(file)).isInstanceOf(ClusterException.class)
        .hasMessageContaining(file.toString()).hasMessageContaining("line 3");
    file("<configuration><property><name>a</name></property></configuration>");
    assertThatThrownBy(() -> SiteFile.read(file)).hasMessageContaining("property a has no <value>");
    file("<html/>");
    assertThatThrownBy(() -> SiteFile.read(file)).hasMessageContaining("<html>");
  }

  @Test
  void whatWouldBeLostIsRefused() throws IOException {
    Path file = file("<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\"><xi:include href=\"more.xml\"/>"
        + "</configuration>");
    assertThatThrownBy(() -> SiteFile.read(file)).isInstanceOf(ClusterException.class)
        .hasMessageContaining("<xi:include>");
  }
}
