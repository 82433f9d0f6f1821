package io.howdah.engine;

import java.util.Map;

/** An engine for JMX. */
public interface EngineMXBean {
  /** All counters by name; empty once the engine is closed. */
  Map<String, Long> getCounters();

  /** Every option's value in force. */
  Map<String, String> getOptions();

  /** Objects of the binding that were dropped without being closed, in this process. */
  long getLeaks();

  /** Native objects that the binding holds open, in this process. */
  long getOpenObjects();
}
