package io.howdah.storage.command;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;

/** Questions to a DataNode's web server about its storage mode. */
final class DataNodeJmx {
  private static final int TIMEOUT_MS = 5000;

  private DataNodeJmx() {
  }

  /**
   * What a DataNode knows of a block: for each pool a line of the replica, then its events.
   *
   * @return null if the DataNode has no storage mode
   * @throws IOException if it does not answer within 5 s
   */
  static List<String> block(DatanodeInfo node, String block) throws IOException {
    return strings(node, block);
  }

  /** The blocks that a DataNode has in RAM only; none if it has no storage mode. */
  static List<String> unpersisted(DatanodeInfo node) throws IOException {
    return names(node, "unpersisted");
  }

  /** Those of some blocks, few enough for a URL, that a DataNode has on SSD or disk; none if it has no storage mode. */
  static List<String> persisted(DatanodeInfo node, List<String> blocks) throws IOException {
    return names(node, "persisted:" + String.join(",", blocks));
  }

  private static List<String> names(DatanodeInfo node, String attribute) throws IOException {
    List<String> names = strings(node, attribute);
    return names == null ? Collections.emptyList() : names;
  }

  private static List<String> strings(DatanodeInfo node, String attribute) throws IOException {
    JsonObject bean = bean(node, "get=Hadoop:service=DataNode,name=HowdahBlocks-*::" + attribute);
    if (bean == null || !bean.has(attribute)) {
      return null;
    }
    List<String> lines = new ArrayList<>();
    bean.getAsJsonArray(attribute).forEach(line -> lines.add(line.getAsString()));
    return lines;
  }

  /** The state of a DataNode's tiers; null if it has no storage mode. */
  static JsonObject status(DatanodeInfo node) throws IOException {
    return bean(node, "qry=Hadoop:service=DataNode,name=HowdahStorage-*");
  }

  private static JsonObject bean(DatanodeInfo node, String query) throws IOException {
    URL url = new URL("http", node.getHostName(), node.getInfoPort(), "/jmx?" + query);
    // Never through the user's proxy.
    HttpURLConnection connection = (HttpURLConnection) url.openConnection(Proxy.NO_PROXY);
    connection.setConnectTimeout(TIMEOUT_MS);
    connection.setReadTimeout(TIMEOUT_MS);
    try (Reader in = new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8)) {
      JsonArray beans = new JsonParser().parse(in).getAsJsonObject().getAsJsonArray("beans");
      return beans == null || beans.size() == 0 ? null : beans.get(0).getAsJsonObject();
    } catch (JsonParseException | IllegalStateException e) {
      throw new IOException("no JSON object from " + url, e);
    } finally {
      connection.disconnect();
    }
  }
}
