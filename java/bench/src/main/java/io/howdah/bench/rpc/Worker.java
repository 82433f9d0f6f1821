package io.howdah.bench.rpc;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.StringUtils;
import org.apache.hadoop.util.VersionInfo;

/**
 * A process of the RPC benchmark, server or client. It takes commands from its input, a line each, and answers each
 * with a line of JSON; it ends with its input, so that none outlives its benchmark. A command that fails is answered
 * by {"error": ...}.
 *
 * <pre>
 *   Worker [-Dname=value ...]                      configuration of Hadoop
 *   serve ADDRESS PORT HANDLERS                    {port}; PORT 0 for a free one
 *   shut PORT                                      ends that server
 *   calls TYPE SIZE HOST PORT COUNT                one client, COUNT calls: their times in microseconds
 *   begin TYPE SIZE HOST PORT CLIENTS [endure]     a load that goes on until end
 *   mark                                           stats, and forgets the load's times until now
 *   end                                            the load's times and failures
 *   stats, collect                                 {@link ProcessStats}; collect lets the collector run before
 *   about                                          versions and the JVM's options
 *   remote HOST PORT                               stats of the server there
 *   reconnect TYPE SIZE HOST PORT COUNT            COUNT times: a new connection, a call, its end
 *   profile, unprofile TOP                         {@link Profile}
 * </pre>
 */
public final class Worker {
  /** How long a load's clients may take for the call they are in when it ends. */
  private static final long PATIENCE_MILLIS = 120000;

  private final Configuration conf;
  private final Map<Integer, EchoServer> servers = new HashMap<>();
  private final Map<String, EchoClient> clients = new HashMap<>();
  private Load load;
  private Profile profile;

  Worker(Configuration conf) {
    this.conf = conf;
  }

  /** See the class. */
  public static void main(String[] args) throws IOException {
    Configuration conf = new Configuration();
    for (String arg : args) {
      if (!arg.matches("-D[^=]+=.*")) {
        System.err.println("usage: Worker [-Dname=value ...]");
        System.exit(2);
      }
      conf.set(arg.substring(2, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
    }
    PrintStream answers = System.out;
    System.setOut(System.err); // nobody's print shall stand between the answers
    Worker worker = new Worker(conf);
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      answers.println(new Gson().toJson(worker.answer(line)));
      answers.flush();
    }
    System.exit(0); // servers and callers are left to the process's end
  }

  Map<String, ?> answer(String line) {
    try {
      return obey(line.trim().split(" +"));
    } catch (IOException | InterruptedException | RuntimeException e) {
      System.err.println(line + ": " + StringUtils.stringifyException(e));
      return Collections.singletonMap("error", line.trim() + ": " + Load.chain(e));
    }
  }

  private Map<String, ?> obey(String[] words) throws IOException, InterruptedException {
    switch (words[0]) {
      case "serve":
        EchoServer server = new EchoServer(conf, words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
        servers.put(server.port(), server);
        return Collections.singletonMap("port", server.port());
      case "shut":
        servers.remove(Integer.parseInt(words[1])).close();
        return Collections.emptyMap();
      case "calls":
        return calls(client(words), Integer.parseInt(words[5])).summary();
      case "begin":
        load = Load.begin(conf, address(words), DataType.named(words[1]), Integer.parseInt(words[2]),
            Integer.parseInt(words[5]), words.length > 6);
        return Collections.emptyMap();
      case "mark":
        return marked();
      case "end":
        return load.end(PATIENCE_MILLIS);
      case "reconnect":
        return reconnect(words, Integer.parseInt(words[5]));
      default:
        return look(words);
    }
  }

  private Map<String, ?> look(String[] words) throws IOException, InterruptedException {
    switch (words[0]) {
      case "stats":
        return withLoad(ProcessStats.ofThisProcess());
      case "collect":
        return withLoad(ProcessStats.afterCollection());
      case "remote":
        return remote(new InetSocketAddress(words[1], Integer.parseInt(words[2])));
      case "about":
        return about();
      case "profile":
        profile = new Profile();
        return Collections.emptyMap();
      case "unprofile":
        return profile.end(Integer.parseInt(words[1]));
      default:
        throw new IOException("there is no command " + words[0]);
    }
  }

  private static Map<String, ?> about() {
    Map<String, Object> about = new LinkedHashMap<>();
    about.put("hadoop", VersionInfo.getVersion());
    about.put("jvm", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
    about.put("options", ManagementFactory.getRuntimeMXBean().getInputArguments());
    return about;
  }

  private static InetSocketAddress address(String[] words) {
    return new InetSocketAddress(words[3], Integer.parseInt(words[4]));
  }

  /** The client for these words, made by the first command that needs it and kept. */
  private EchoClient client(String[] words) throws IOException {
    String key = String.join(" ", words[1], words[2], words[3], words[4]);
    EchoClient client = clients.get(key);
    if (client == null) {
      client = new EchoClient(conf, address(words), DataType.named(words[1]), Integer.parseInt(words[2]), 0);
      client.callChecked(1);
      clients.put(key, client);
    }
    return client;
  }

  private static Latencies calls(EchoClient client, int count) throws IOException {
    Latencies times = new Latencies(count);
    for (int i = 0; i < count; i++) {
      long start = System.nanoTime();
      client.call();
      times.add(System.nanoTime() - start);
    }
    return times;
  }

  private Map<String, ?> marked() {
    Map<String, Object> stats = withLoad(ProcessStats.ofThisProcess());
    load.clear();
    return stats;
  }

  private Map<String, Object> withLoad(ProcessStats stats) {
    Map<String, Object> result = new LinkedHashMap<>(stats.values());
    if (load != null) {
      load.addTo(result);
    }
    return result;
  }

  private Map<String, ?> remote(InetSocketAddress server) throws IOException {
    try (StatsClient client = new StatsClient(conf, server)) {
      return client.stats();
    }
  }

  private Map<String, ?> reconnect(String[] words, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      try (EchoClient client = new EchoClient(
          conf, address(words), DataType.named(words[1]), Integer.parseInt(words[2]), 0)) {
        client.callChecked(i);
      }
    }
    return Collections.singletonMap("reconnected", count);
  }
}
