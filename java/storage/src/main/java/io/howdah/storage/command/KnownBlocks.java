package io.howdah.storage.command;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HAUtil;
import org.apache.hadoop.hdfs.NameNodeProxies;
import org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol;
import org.apache.hadoop.hdfs.web.URLConnectionFactory;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authentication.client.AuthenticationException;

/** Which blocks the NameNode knows, by what {@code hdfs fsck -blockId} asks: those of snapshots are among them. */
final class KnownBlocks {
  /** Blocks of a question, few enough for a URL. */
  private static final int BATCH = 100;
  private static final Pattern ANSWER =
      Pattern.compile("Block blk_(-?\\d+) does not exist|Block Id: blk_(-?\\d+)|No\\. of live Replica: (\\d+)");

  private final DistributedFileSystem fs;
  private final URLConnectionFactory connections;
  private final String url;

  KnownBlocks(DistributedFileSystem fs) throws IOException {
    this.fs = fs;
    Configuration conf = fs.getConf();
    connections = URLConnectionFactory.newDefaultURLConnectionFactory(conf);
    url = DFSUtil.getInfoServer(HAUtil.getAddressOfActive(fs), conf, DFSUtil.getHttpClientScheme(conf))
        + "/fsck?ugi=" + UserGroupInformation.getCurrentUser().getShortUserName() + "&path=%2F&blockId=";
  }

  /** The block pool of the NameNode. */
  String pool() throws IOException {
    NamenodeProtocol namenode =
        NameNodeProxies.createProxy(fs.getConf(), fs.getUri(), NamenodeProtocol.class).getProxy();
    try {
      return namenode.versionRequest().getBlockPoolID();
    } finally {
      RPC.stopProxy(namenode);
    }
  }

  /**
   * How many live replicas each of some blocks has, by its id. Those that the NameNode does not know are not there.
   *
   * @throws IOException if it does not say that of each
   */
  Map<Long, Integer> live(List<Long> ids) throws IOException {
    Map<Long, Integer> live = new HashMap<>();
    for (int i = 0; i < ids.size(); i += BATCH) {
      ask(ids.subList(i, Math.min(ids.size(), i + BATCH)), live);
    }
    return live;
  }

  private void ask(List<Long> ids, Map<Long, Integer> live) throws IOException {
    Set<Long> unanswered = new HashSet<>(ids);
    List<String> names = new ArrayList<>();
    ids.forEach(id -> names.add("blk_" + id));
    URL question = new URL(url + URLEncoder.encode(String.join(" ", names), "UTF-8"));
    try (BufferedReader in = new BufferedReader(new InputStreamReader(
        connections.openConnection(question, UserGroupInformation.isSecurityEnabled()).getInputStream(),
        StandardCharsets.UTF_8))) {
      Long current = null;
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Matcher answer = ANSWER.matcher(line.trim());
        if (!answer.matches()) {
          continue;
        }
        if (answer.group(1) != null) {
          unanswered.remove(Long.valueOf(answer.group(1)));
        } else if (answer.group(2) != null) {
          current = Long.valueOf(answer.group(2));
          unanswered.remove(current);
          live.put(current, 0);
        } else if (current != null) {
          live.put(current, Integer.valueOf(answer.group(3)));
        }
      }
    } catch (AuthenticationException e) {
      throw new IOException("the NameNode's web server does not let this user in: " + e.getMessage(), e);
    }
    if (!unanswered.isEmpty()) {
      throw new IOException("the NameNode does not say whether it knows blk_" + unanswered.iterator().next()
          + ": nothing is removed");
    }
  }
}
