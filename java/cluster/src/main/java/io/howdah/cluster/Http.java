package io.howdah.cluster;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/** Questions to the daemons' web servers on this machine. */
final class Http {
  private static final int TIMEOUT_MS = 5000;
  /** WebHDFS loads much when it is first asked; on a busy machine that takes a while. */
  private static final int CHANGE_TIMEOUT_MS = 120_000;

  private Http() {
  }

  /**
   * Asks for a JSON object.
   *
   * @throws IOException if nobody listens, the answer takes more than 5 s, or it is not JSON
   */
  static JsonObject json(int port, String path) throws IOException {
    return json("localhost", port, path);
  }

  /** Likewise, of another host. */
  static JsonObject json(String host, int port, String path) throws IOException {
    HttpURLConnection connection = open(host, port, path);
    connection.setRequestProperty("Accept", "application/json");
    try (Reader in = new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8)) {
      return new JsonParser().parse(in).getAsJsonObject();
    } catch (JsonParseException | IllegalStateException e) {
      throw new IOException("no JSON object from " + connection.getURL(), e);
    } finally {
      connection.disconnect();
    }
  }

  /** Whether a web server answers with success. */
  static boolean answers(int port, String path) {
    try {
      HttpURLConnection connection = open(port, path);
      try (InputStream in = connection.getInputStream()) {
        return in.read() >= 0 || connection.getResponseCode() < 400;
      }
    } catch (IOException e) {
      return false;
    }
  }

  /** Sends a request without a body. */
  static void put(int port, String path) throws IOException {
    HttpURLConnection connection = open(port, path);
    connection.setRequestMethod("PUT");
    connection.setReadTimeout(CHANGE_TIMEOUT_MS);
    try (InputStream in = connection.getInputStream()) {
      while (in.read() >= 0) {
        continue;
      }
    }
  }

  private static HttpURLConnection open(int port, String path) throws IOException {
    return open("localhost", port, path);
  }

  private static HttpURLConnection open(String host, int port, String path) throws IOException {
    URL url = new URL("http", host, port, path);
    // Never through the user's proxy.
    HttpURLConnection connection = (HttpURLConnection) url.openConnection(Proxy.NO_PROXY);
    connection.setConnectTimeout(TIMEOUT_MS);
    connection.setReadTimeout(TIMEOUT_MS);
    return connection;
  }
}
