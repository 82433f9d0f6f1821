package io.howdah.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The counters of an engine at one time. Those whose name ends in {@code .now} go down as well. Immutable. */
public final class Counters {
  private final Map<String, Long> values;

  private Counters(Map<String, Long> values) {
    this.values = Collections.unmodifiableMap(values);
  }

  static Counters of(EngineCore core) throws IOException {
    Map<String, Long> values = new LinkedHashMap<>();
    long engine = core.enter();
    try {
      List<String> names = new ArrayList<>();
      String name;
      while ((name = Native.counterName(engine, names.size())) != null) {
        names.add(name);
      }
      ByteBuffer scratch = Memory.scratch();
      int count = Native.counters(engine, Memory.address(scratch), scratch.capacity() / Long.BYTES);
      for (int i = 0; i < count; i++) {
        values.put(names.get(i), scratch.getLong(i * Long.BYTES));
      }
    } finally {
      core.exit();
    }
    return new Counters(values);
  }

  /** A counter's value. */
  public long get(Counter counter) {
    return values.get(counter.key());
  }

  /** All of them by the engine's names, also those that {@link Counter} does not have. */
  public Map<String, Long> asMap() {
    return values;
  }
}
