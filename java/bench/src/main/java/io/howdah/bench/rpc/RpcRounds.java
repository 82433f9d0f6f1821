package io.howdah.bench.rpc;

import com.google.gson.JsonObject;
import io.howdah.bench.Undisturbed;
import io.howdah.bench.rpc.Sample.Case;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Measures each case on each side in each round. The processes of a round are fresh, so that the luck of one
 * compilation by the JVM counts for one round only; within a round those of both sides live side by side and are
 * measured in turn, case by case, in an order that changes, so that a disturbance of the machine meets both; a case
 * that the host of a virtual machine disturbed is measured again, on both sides. For one thread.
 */
final class RpcRounds {
  private static final int PROFILE_TOP = 12;
  private static final int PROFILE_SIZE = 512;
  private static final int SETTLE_PARTS = 20;
  private static final int IDLE_MILLIS = 1000;

  private final RpcPlan plan;
  private final List<Side> sides;
  private final PrintStream progress;
  private final Undisturbed undisturbed;
  private final List<Sample> samples = new ArrayList<>();
  private final Map<String, JsonObject> about = new LinkedHashMap<>();
  private final Map<String, JsonObject> profiles = new LinkedHashMap<>();
  private int turn;

  RpcRounds(RpcPlan plan, List<Side> sides, PrintStream progress) {
    this.plan = plan;
    this.sides = sides;
    this.progress = progress;
    // As many again as there are at all: at worst a run takes twice its time.
    undisturbed = new Undisturbed(plan.rounds * cases(plan).size());
  }

  List<Sample> samples() {
    return samples;
  }

  /** What was measured again, and what was disturbed all the same. */
  Undisturbed undisturbed() {
    return undisturbed;
  }

  /** Versions and options of each side's processes. */
  Map<String, JsonObject> about() {
    return about;
  }

  /** By side, role and case; empty unless asked for. */
  Map<String, JsonObject> profiles() {
    return profiles;
  }

  /** What the plan asks for, in the order it is measured. */
  static List<Case> cases(RpcPlan plan) {
    List<Case> cases = new ArrayList<>();
    int handlers = plan.handlers.get(0);
    plan.sizes.forEach(size -> cases.add(new Case("latency", plan.type, size, 1, handlers)));
    if (!plan.sizes.isEmpty()) {
      cases.add(new Case("idle", plan.type, 0, 1, handlers));
    }
    plan.types.forEach(type -> cases.add(new Case("type", type, plan.typeSize, 1, handlers)));
    if (!plan.clients.isEmpty()) {
      int most = Collections.max(plan.clients);
      for (int size : plan.loadSizes) {
        plan.clients.forEach(clients -> cases.add(new Case("throughput", plan.type, size, clients, handlers)));
        plan.handlers.subList(1, plan.handlers.size())
            .forEach(count -> cases.add(new Case("throughput", plan.type, size, most, count)));
      }
    }
    return cases;
  }

  /** What is to be done after a round. */
  @FunctionalInterface
  interface AfterRound {
    void run() throws IOException;
  }

  void run(AfterRound after) throws IOException, InterruptedException {
    for (int round = 1; round <= plan.rounds; round++) {
      long started = System.nanoTime();
      List<Side> order = order();
      try {
        order.forEach(Side::start);
        order.forEach(this::settle);
        for (Case what : cases(plan)) {
          samples.addAll(measure(round, what));
        }
        if (round == plan.rounds && plan.profile) {
          profile();
        }
        order.forEach(side -> about.put(side.name(), side.about()));
      } finally {
        order.forEach(Side::close);
      }
      progress.printf(Locale.ROOT, "round %d of %d, %.0f s, %d measured again%n", round, plan.rounds,
          (System.nanoTime() - started) / 1e9, undisturbed.again());
      after.run();
    }
  }

  /** The sides; each time another one is first. */
  private List<Side> order() {
    List<Side> order = new ArrayList<>(sides);
    Collections.rotate(order, turn++);
    return order;
  }

  /**
   * Both sides for the same time: what the JVMs compile meanwhile, by processors that the calls want too, is not a cost
   * of calls. By their number it would not do: the faster ones are over before the compilers are. All sizes, as each
   * takes other ways through the code, and what was compiled without them would be compiled again.
   */
  private void settle(Side side) {
    List<Integer> sizes = plan.sizes.isEmpty() ? plan.loadSizes : plan.sizes;
    String address = side.address(plan.handlers.get(0));
    for (int i = 0; i < sizes.size(); i++) {
      int calls = Math.max(1, plan.iterations(sizes.get(i)) / SETTLE_PARTS);
      long until = System.nanoTime() + (long) (plan.settleSeconds * 1e9 / sizes.size());
      while (System.nanoTime() < until) {
        side.client().ask("calls", plan.type, sizes.get(i), address, calls);
      }
    }
  }

  private List<Sample> measure(int round, Case what) throws InterruptedException {
    List<Sample> both = undisturbed.measure(() -> {
      List<Sample> attempt = new ArrayList<>();
      for (Side side : order()) {
        attempt.add(measure(side, round, what));
      }
      return attempt;
    });
    both.forEach(sample -> sample.values.put("stolen", undisturbed.stolen()));
    return both;
  }

  private Sample measure(Side side, int round, Case what) throws InterruptedException {
    Sample sample = new Sample(side.name(), round, what);
    switch (what.measure) {
      case "throughput":
        load(side, what, sample);
        break;
      case "idle":
        idle(side, sample);
        break;
      default:
        latency(side, what, sample);
    }
    return sample;
  }

  /**
   * One client, one call at a time; the first half of the calls warms up, and as many more as fit into the time that a
   * load warms up: a size that takes another way through the code has some of it compiled again.
   */
  private void latency(Side side, Case what, Sample sample) {
    WorkerProcess client = side.client();
    String address = side.address(what.handlers);
    int warm = plan.iterations(what.bytes) / 2;
    int calls = plan.iterations(what.bytes) - warm;
    long warmUntil = System.nanoTime() + (long) (plan.warmSeconds * 1e9);
    do {
      client.ask("calls", what.type, what.bytes, address, Math.max(1, warm));
    } while (System.nanoTime() < warmUntil);
    JsonObject server = side.serverStats();
    JsonObject before = client.ask("stats");
    sample.times(client.ask("calls", what.type, what.bytes, address, calls));
    sample.used("Client", before, client.ask("stats"), calls);
    sample.used("Server", server, side.serverStats(), calls);
  }

  /** What the processes use while their connections rest, in microseconds a second. */
  private void idle(Side side, Sample sample) throws InterruptedException {
    JsonObject server = side.serverStats();
    JsonObject client = side.client().ask("stats");
    Thread.sleep(IDLE_MILLIS);
    sample.used("Client", client, side.client().ask("stats"), IDLE_MILLIS / 1e3);
    sample.used("Server", server, side.serverStats(), IDLE_MILLIS / 1e3);
  }

  private void load(Side side, Case what, Sample sample) throws InterruptedException {
    List<WorkerProcess> clients = loaders(side, what);
    begin(clients, side, what);
    Thread.sleep((long) (plan.warmSeconds * 1000));
    List<JsonObject> before = new ArrayList<>();
    clients.forEach(client -> before.add(client.ask("mark")));
    JsonObject server = side.serverStats();
    Thread.sleep((long) (plan.seconds * 1000));
    JsonObject serverAfter = side.serverStats();
    List<JsonObject> after = new ArrayList<>();
    clients.forEach(client -> after.add(client.ask("stats")));
    double rate = 0;
    for (int i = 0; i < clients.size(); i++) {
      double seconds = Sample.difference("nanos", before.get(i), after.get(i)) / 1e9;
      double calls = Sample.difference("calls", before.get(i), after.get(i));
      rate += calls / seconds;
      Sample part = new Sample(side.name(), 0, what);
      part.used("Client", before.get(i), after.get(i), Math.max(1, calls));
      part.values.forEach((name, value) -> sample.values.merge(name, value / clients.size(), Double::sum));
    }
    sample.values.put("rate", rate);
    double served = rate * Sample.difference("nanos", server, serverAfter) / 1e9;
    sample.used("Server", server, serverAfter, Math.max(1, served));
    end(clients, side, what, sample);
  }

  /** As many of the client processes as there are clients for. */
  private List<WorkerProcess> loaders(Side side, Case what) {
    return side.clients().subList(0, Math.min(what.clients, side.clients().size()));
  }

  private void begin(List<WorkerProcess> clients, Side side, Case what) {
    for (int i = 0; i < clients.size(); i++) {
      int share = what.clients / clients.size() + (i < what.clients % clients.size() ? 1 : 0);
      clients.get(i).send("begin", what.type, what.bytes, side.address(what.handlers), share);
    }
    clients.forEach(WorkerProcess::answer);
  }

  private void end(List<WorkerProcess> clients, Side side, Case what, Sample sample) {
    clients.forEach(client -> client.send("end"));
    int counted = 0;
    for (WorkerProcess client : clients) {
      JsonObject end = client.answer();
      if (end.get("failed").getAsLong() + end.get("hung").getAsLong() > 0) {
        throw new BenchException(side.name() + ", " + what + ": calls failed or hung: " + end);
      }
      // Percentiles of several processes can't be put together exactly; theirs are averaged.
      Sample part = new Sample(side.name(), 0, what);
      part.times(end);
      counted++;
      double weight = 1.0 / clients.size();
      part.values.forEach((name, value) -> sample.values.merge(name, value * weight, Double::sum));
    }
    sample.values.merge("count", (double) counted, (average, processes) -> average * processes);
  }

  private void profile() throws InterruptedException {
    int most = plan.clients.isEmpty() ? 1 : Collections.max(plan.clients);
    for (int clients : most == 1 ? new int[] {1} : new int[] {1, most}) {
      Case what = new Case("throughput", plan.type, PROFILE_SIZE, clients, plan.handlers.get(0));
      for (Side side : order()) {
        List<WorkerProcess> loaders = loaders(side, what);
        begin(loaders, side, what);
        Thread.sleep((long) (plan.warmSeconds * 1000));
        side.client().ask("profile");
        if (side.server() != null) {
          side.server().ask("profile");
        }
        Thread.sleep((long) (plan.seconds * 1000));
        String key = clients + (clients == 1 ? " client" : " clients") + ", " + side.name() + "'s ";
        profiles.put(key + "client", side.client().ask("unprofile", PROFILE_TOP));
        if (side.server() != null) {
          profiles.put(key + "server", side.server().ask("unprofile", PROFILE_TOP));
        }
        end(loaders, side, what, new Sample(side.name(), 0, what));
      }
    }
  }
}
