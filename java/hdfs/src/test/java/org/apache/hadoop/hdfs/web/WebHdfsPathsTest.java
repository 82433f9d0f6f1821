package org.apache.hadoop.hdfs.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.net.URISyntaxException;
import org.junit.jupiter.api.Test;

/** On real daemons: tests/e2e/webhdfs.bats. */
class WebHdfsPathsTest {
  @Test
  void everyPathIsAsciiAndDecodesToItself() throws Exception {
    StringBuilder all = new StringBuilder("/\u00dcbung/U\u0308bung/\u65e5\u672c/\ud834\udd1e/a%20b/%/a%%b/a%2Fb");
    for (char c = ' '; c < 127; c++) {
      all.append('/').append(c);
    }
    String encoded = WebHdfsPaths.encode(all.toString());
    assertThat(encoded).matches("[-A-Za-z0-9/._*%]*");
    assertThat(new URI(encoded).getPath()).isEqualTo(all.toString());
  }

  @Test
  void onlyThePathOfAUrlIsEncoded() throws Exception {
    assertThat(WebHdfsPaths.uri("http", "node", 50075, "/webhdfs/v1/a;b", "op=OPEN&user.name=a%40b"))
        .hasToString("http://node:50075/webhdfs/v1/a%3Bb?op=OPEN&user.name=a%40b");
    assertThat(WebHdfsPaths.uri("http", "[::1]", 1, "/", "op=OPEN")).hasToString("http://[::1]:1/?op=OPEN");
    assertThatThrownBy(() -> WebHdfsPaths.uri("http", "node", 1, "/", "a b")).isInstanceOf(URISyntaxException.class);
  }
}
