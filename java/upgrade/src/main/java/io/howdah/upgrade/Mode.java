package io.howdah.upgrade;

import java.util.Locale;

/** What a configuration wants of the engine. */
public enum Mode {
  /** The engine where both ends have it, else sockets. The default. */
  AUTO,
  /** As AUTO; a fallback is logged as a warning. */
  TRUE,
  /** The engine, or an error with its cause. */
  REQUIRED,
  /** Sockets only. */
  FALSE;

  /** As configurations have it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
