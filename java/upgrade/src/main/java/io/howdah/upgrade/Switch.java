package io.howdah.upgrade;

import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import java.util.Arrays;

/** What the options that switch the engine on and off say for a component, all together. Immutable. */
final class Switch {
  private static final String TRANSPORT_VARIABLE = EngineOption.TRANSPORT.environmentName();

  final Mode mode;
  /** What decided: "hadoop.rdma.enabled=required (from core-site.xml)". */
  final String origin;
  /** Link layer that HiBD's names ask for: any, infiniband or ethernet; null if they say nothing. */
  final String linkLayer;

  private Switch(Mode mode, String origin, String linkLayer) {
    this.mode = mode;
    this.origin = origin;
    this.linkLayer = linkLayer;
  }

  /** @throws BadOptionException for values that are not valid */
  static Switch of(Component component, Settings settings) throws BadOptionException {
    boolean spark = component == Component.SPARK;
    Pair own = spark ? Pair.of(settings, Options.SPARK_IB, Options.SPARK_ROCE) : Pair.NONE;
    Pair hibd = Pair.of(settings, Options.IB, Options.ROCE);
    String layer = own.layer != null ? own.layer : hibd.layer;
    Switch wish = wish(component, settings, own, hibd);
    if (wish.mode != Mode.FALSE && component.required().read(settings)) {
      wish = new Switch(Mode.REQUIRED, describe(settings, component.required().key()), null);
    }
    return byTransport(component, settings, wish, layer);
  }

  private static Switch wish(Component component, Settings settings, Pair own, Pair hibd) throws BadOptionException {
    Option<Mode> mine = component.enabled();
    for (Option<Mode> option : Arrays.asList(mine, Options.ENABLED)) {
      String text = settings.environment(option.environmentName());
      if (text != null && !text.trim().isEmpty()) {
        return new Switch(option.parse(text, option.environmentName(), "the environment"),
            option.environmentName() + "=" + text + " in the environment", null);
      }
    }
    if (settings.get(mine.key()) != null) {
      return new Switch(mine.read(settings), describe(settings, mine.key()), null);
    }
    if (own.mode != null) {
      return new Switch(own.mode, own.origin, null);
    }
    if (settings.get(Options.ENABLED.key()) != null) {
      return new Switch(Options.ENABLED.read(settings), describe(settings, Options.ENABLED.key()), null);
    }
    return hibd.mode != null ? new Switch(hibd.mode, hibd.origin, null)
        : new Switch(Options.ENABLED.defaultValue(), "the default of " + Options.ENABLED, null);
  }

  /** A transport by name never falls back; tcp is none. */
  private static Switch byTransport(Component component, Settings settings, Switch wish, String layer) {
    String transport = settings.environment(TRANSPORT_VARIABLE);
    String origin = TRANSPORT_VARIABLE + "=" + transport + " in the environment";
    String suffix = EngineOption.TRANSPORT.key().substring(EngineConf.PREFIX.length());
    for (String key : new String[] {component == Component.SPARK ? component.prefix() + suffix : null,
        EngineOption.TRANSPORT.key()}) {
      if (transport == null && key != null) {
        transport = settings.get(key);
        origin = transport == null ? null : describe(settings, key);
      }
    }
    if (wish.mode == Mode.FALSE || transport == null || transport.isEmpty() || transport.equals("auto")) {
      return new Switch(wish.mode, wish.origin, layer);
    }
    return new Switch(transport.equals("tcp") ? Mode.FALSE : Mode.REQUIRED, origin, layer);
  }

  private static String describe(Settings settings, String key) {
    return key + "=" + settings.get(key) + " (from " + settings.origin(key) + ")";
  }

  /** HiBD's two switches. One that is not set is false, but for ib, which is then the opposite of roce. */
  private static final class Pair {
    static final Pair NONE = new Pair(null, null, null);

    final Mode mode;
    final String layer;
    final String origin;

    private Pair(Mode mode, String layer, String origin) {
      this.mode = mode;
      this.layer = layer;
      this.origin = origin;
    }

    static Pair of(Settings settings, Option<Boolean> ibOption, Option<Boolean> roceOption) throws BadOptionException {
      Boolean ibSet = ibOption.read(settings);
      Boolean roceSet = roceOption.read(settings);
      if (ibSet == null && roceSet == null) {
        return NONE;
      }
      boolean roce = Boolean.TRUE.equals(roceSet);
      boolean ib = ibSet == null ? !roce : ibSet;
      String origin = describe(settings, ibSet != null ? ibOption.key() : roceOption.key());
      if (!ib && !roce) {
        return new Pair(Mode.FALSE, null, origin);
      }
      return new Pair(Mode.TRUE, ib && roce ? "any" : ib ? "infiniband" : "ethernet", origin);
    }
  }
}
