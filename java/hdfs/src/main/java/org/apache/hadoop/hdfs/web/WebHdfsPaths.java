package org.apache.hadoop.hdfs.web;

import java.io.UnsupportedEncodingException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;

/** Paths of files in WebHDFS's URLs. */
public final class WebHdfsPaths {
  private WebHdfsPaths() {
  }

  /**
   * Percent-encodes a path as UTF-8: all but letters, digits, {@code /}, {@code .}, {@code -}, {@code _} and {@code *}.
   * {@link URI} leaves a semicolon, at which servers cut the path, and normalises characters that are not ASCII.
   */
  public static String encode(String path) {
    try {
      return URLEncoder.encode(path, "UTF-8").replace("+", "%20").replace("%2F", "/");
    } catch (UnsupportedEncodingException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * A URL of WebHDFS.
   *
   * @param path not encoded
   * @param query encoded
   * @throws URISyntaxException if the query is not encoded
   */
  public static URI uri(String scheme, String host, int port, String path, String query) throws URISyntaxException {
    return new URI(new URI(scheme, null, host, port, null, null, null) + encode(path) + '?' + query);
  }
}
