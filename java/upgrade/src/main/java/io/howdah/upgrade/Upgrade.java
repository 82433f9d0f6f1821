package io.howdah.upgrade;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineOption;
import java.io.Closeable;
import java.io.IOException;
import java.util.TreeSet;

/**
 * A component's resolved view of its settings, and its way to the engine. Cheap to make: the engine itself is made
 * when somebody asks for it, and is shared by all components of the process whose engine options are the same.
 *
 * <p>In {@link Mode#AUTO} and {@link Mode#TRUE} a failure of the engine, whatever its kind, means sockets. It is
 * counted, and logged once. Thread-safe.
 */
public final class Upgrade implements Closeable {
  private static final Said SAID = new Said();
  private static final Option<Long> CONNECT_TIMEOUT = Option.millis(EngineOption.CONNECT_TIMEOUT.key(), 0, 1,
      Integer.MAX_VALUE, "as the engine has it");
  private static final UpgradeMetrics NO_METRICS = new UpgradeMetrics() { };

  private final Component component;
  private final Settings settings;
  private final Role role;
  private final Switch wish;
  private final EngineSettings options;
  private volatile UpgradeMetrics metrics = NO_METRICS;
  private volatile Engine engine;

  private Upgrade(Component component, Settings settings, Role role, Switch wish) throws BadOptionException {
    this.component = component;
    this.settings = settings;
    this.role = role;
    this.wish = wish;
    this.options = wish.mode == Mode.FALSE ? null : new EngineSettings(component, settings, role, wish.linkLayer);
    component.remember().read(settings);
  }

  /**
   * Reads a component's options, in a process of this role.
   *
   * @throws BadOptionException for a value that is not valid
   */
  public static Upgrade of(Component component, Settings settings) throws BadOptionException {
    return of(component, settings, Role.ofThisProcess());
  }

  /** The same for a given role. */
  public static Upgrade of(Component component, Settings settings, Role role) throws BadOptionException {
    Upgrade upgrade = new Upgrade(component, settings, role, Switch.of(component, settings));
    if (role != Role.COMMAND) {
      Traffic.publish();
    }
    if (upgrade.isOff()) {
      Traffic.state(component, "false: " + upgrade.origin());
    }
    return upgrade;
  }

  /** Has these counters told, beside the process-wide ones. */
  public Upgrade metrics(UpgradeMetrics counters) {
    metrics = counters;
    return this;
  }

  // What it says.

  /** Whose it is. */
  public Component component() {
    return component;
  }

  /** The mode in force. */
  public Mode mode() {
    return wish.mode;
  }

  /** The process's role. */
  public Role role() {
    return role;
  }

  /** Whether sockets are all that is wanted. */
  public boolean isOff() {
    return wish.mode == Mode.FALSE;
  }

  /** Whether to use the engine or fail. */
  public boolean isRequired() {
    return wish.mode == Mode.REQUIRED;
  }

  /** What decided the mode: "hadoop.rdma.enabled=true (from core-site.xml)". */
  public String origin() {
    return wish.origin;
  }

  /** The value of an option. @throws BadOptionException if it is not valid */
  public <T> T get(Option<T> option) throws BadOptionException {
    return option.read(settings);
  }

  /** For how many milliseconds a refusal is remembered. */
  long remember() throws BadOptionException {
    return component.remember().read(settings);
  }

  UpgradeMetrics metrics() {
    return metrics;
  }

  // The engine.

  /**
   * Whether connections are to use the engine: it is wanted and can be had. Makes the engine if there is none.
   *
   * @throws BadOptionException for an option of the engine that is not valid
   * @throws IOException if it is required and can't be had
   */
  public boolean isUsable() throws IOException {
    if (isOff()) {
      return false;
    }
    Engine current = engine;
    return current != null && current.isOpen() || acquire();
  }

  private synchronized boolean acquire() throws IOException {
    if (engine != null && engine.isOpen()) {
      return true;
    }
    try {
      engine = Engines.acquire(options, settings);
      String text = component.subject() + " over " + Engine.description() + ", " + engine.affinity();
      Traffic.state(component, wish.mode.text() + ": " + Engine.description());
      if (SAID.isNews("engine", text.substring(component.subject().length()))) {
        note(text);
      }
      return true;
    } catch (Engines.Failure e) {
      return unusable(e);
    }
  }

  private boolean unusable(Engines.Failure e) throws IOException {
    if (isRequired()) {
      throw new IOException(component.subject() + " has to go over the engine (" + wish.origin
          + "), which can't be used: " + e.getMessage(), e.getCause());
    }
    Traffic.state(component, wish.mode.text() + ": sockets, since " + e.getMessage());
    fellBack("", component.subject() + " uses sockets", e.getMessage());
    return false;
  }

  /**
   * The engine.
   *
   * @throws IllegalStateException if {@link #isUsable} did not return true before
   */
  public Engine engine() {
    Engine current = engine;
    if (current == null) {
      throw new IllegalStateException("isUsable() was not asked");
    }
    return current;
  }

  /** The engine's {@code connect.timeout} in force, in milliseconds. */
  public long greetingTimeout() throws BadOptionException {
    return CONNECT_TIMEOUT.parse(engine().option(EngineOption.CONNECT_TIMEOUT), CONNECT_TIMEOUT.key(), "the engine");
  }

  /** A client of this component. */
  public Connector connector() {
    return new Connector(this);
  }

  /**
   * Gives the engine up. The last use ends it. A component that keeps it for the life of the process does not call
   * this.
   */
  @Override
  public synchronized void close() {
    if (engine != null) {
      Engines.release(options, engine);
      engine = null;
    }
  }

  // What is said.

  /** Logs what is good to know of a daemon: INFO, but DEBUG in a command, whose log is its user's console. */
  public void note(String text) {
    if (role == Role.COMMAND) {
      component.log().debug(text);
    } else {
      component.log().info(text);
    }
  }

  /**
   * Counts a fallback to sockets by its cause, and logs it: as a warning if the engine was asked for, else as
   * {@link #note} does; once for each peer and cause.
   *
   * @param peer whom it is about, "" for all
   */
  public void fellBack(String peer, String text, String cause) {
    Traffic.reason(component, cause);
    if (!SAID.isNews(component.id() + " " + peer, text + cause)) {
      return;
    }
    if (wish.mode == Mode.AUTO) {
      note(text + ": " + cause);
    } else {
      component.log().warn(text + ": " + cause);
    }
  }

  /**
   * Looks through all settings for names that nobody knows and for names of HiBD that have no effect here. Each is
   * logged once, with the nearest known name or with what to know. Does
   * nothing in a command.
   */
  public void checkNames() {
    if (role == Role.COMMAND) {
      return;
    }
    TreeSet<String> known = Options.names();
    for (String key : settings.keys()) {
      String name = key.startsWith("spark.hadoop.") ? key.substring("spark.hadoop.".length()) : key;
      String accepted = Options.accepted().get(name);
      if (accepted != null && SAID.isNews(key, accepted)) {
        note(key + " (from " + settings.origin(key) + ") has no effect: " + accepted);
      } else if (accepted == null && name.contains(".rdma.") && !known.contains(name) && SAID.isNews(key, "unknown")) {
        component.log().warn("There is no option {} (from {}); the nearest is {}", key, settings.origin(key),
            Names.nearest(name, known));
      }
    }
  }
}
