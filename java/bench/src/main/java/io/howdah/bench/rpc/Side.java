package io.howdah.bench.rpc;

import com.google.gson.JsonObject;
import java.io.Closeable;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One side of a comparison: a distribution tree, and for the time of a round a server and clients that run from it.
 * For one thread.
 */
final class Side implements Closeable {
  private final String name;
  private final File tree;
  private final List<String> settings;
  private final RpcPlan plan;
  private final File log;
  private final Map<Integer, Integer> ports = new HashMap<>();
  private final List<WorkerProcess> clients = new ArrayList<>();
  private WorkerProcess server;

  /**
   * Names a side; nothing runs yet.
   *
   * @param settings Hadoop's configuration for it, name=value
   */
  Side(String name, File tree, List<String> settings, RpcPlan plan, File log) {
    this.name = name;
    this.tree = tree;
    this.settings = settings;
    this.plan = plan;
    this.log = log;
  }

  String name() {
    return name;
  }

  /** Starts fresh processes. */
  void start() {
    ports.clear();
    for (int i = 0; i < plan.processes; i++) {
      clients.add(worker("client"));
    }
    if (plan.remote == null) {
      server = worker("server");
    }
  }

  private WorkerProcess worker(String role) {
    File command = new File(tree, "libexec/howdah-bench");
    if (!command.canExecute()) {
      throw new BenchException(tree + " is not a tree of this distribution: it has no libexec/howdah-bench");
    }
    List<String> words = new ArrayList<>(Arrays.asList(command.getPath(), "worker"));
    settings.forEach(setting -> words.add("-D" + setting));
    Map<String, String> environment = new HashMap<>();
    environment.put("HOWDAH_OPTS", plan.jvmOptions);
    environment.put("HADOOP_ROOT_LOGGER", "WARN,console");
    for (String variable : new String[] {"HADOOP_HOME", "SPARK_HOME", "HADOOP_CLASSPATH", "CLASSPATH"}) {
      environment.put(variable, null); // the worker's script sets those of its own tree
    }
    return new WorkerProcess(name + "'s " + role, words, environment, log);
  }

  /** Where the server with that many handlers listens; started when it is first asked for. */
  String address(int handlers) {
    if (plan.remote != null) {
      return plan.remote.replace(':', ' ');
    }
    int port = ports.computeIfAbsent(
        handlers, count -> server.ask("serve", plan.address, 0, count).get("port").getAsInt());
    return plan.address + " " + port;
  }

  List<WorkerProcess> clients() {
    return Collections.unmodifiableList(clients);
  }

  WorkerProcess client() {
    return clients.get(0);
  }

  /** The server's process; null where that is another node's. */
  WorkerProcess server() {
    return server;
  }

  JsonObject serverStats() {
    return server != null ? server.ask("stats") : client().ask("remote", plan.remote.replace(':', ' '));
  }

  JsonObject about() {
    return client().ask("about");
  }

  @Override
  public void close() {
    clients.forEach(WorkerProcess::close);
    clients.clear();
    if (server != null) {
      server.close();
      server = null;
    }
  }
}
