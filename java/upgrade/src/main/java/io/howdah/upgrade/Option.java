package io.howdah.upgrade;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An option: its key, older names, environment variable, type, default and range. Immutable.
 *
 * @param <T> type of its values
 */
public final class Option<T> {
  private static final Pattern NUMBER = Pattern.compile("(\\d{1,18})\\s*([a-z]*)");

  private static final Pattern SHARE = Pattern.compile("\\d{0,9}\\.?\\d{1,9}");

  private interface Parser<T> {
    /** @return null if the text is no value */
    T parse(String text);
  }

  private final String key;
  private final List<String> aliases;
  private final String environment;
  private final T otherwise;
  private final String range;
  private final String help;
  private final Parser<T> parser;

  private Option(String key, List<String> aliases, String environment, T otherwise, String range, String help,
      Parser<T> parser) {
    this.key = key;
    this.aliases = aliases;
    this.environment = environment;
    this.otherwise = otherwise;
    this.range = range;
    this.help = help;
    this.parser = parser;
  }

  private static <T> Option<T> of(String key, T otherwise, String range, String help, Parser<T> parser) {
    return new Option<>(key, Collections.emptyList(), null, otherwise, range, help, parser);
  }

  // Types.

  /** A switch with the four modes. */
  static Option<Mode> mode(String key, Mode otherwise, String help) {
    return of(key, otherwise, "auto, true, required or false", help, text -> {
      for (Mode mode : Mode.values()) {
        if (mode.name().equalsIgnoreCase(text)) {
          return mode;
        }
      }
      return null;
    });
  }

  /** True or false. */
  static Option<Boolean> flag(String key, Boolean otherwise, String help) {
    return of(key, otherwise, "true or false", help,
        text -> text.equalsIgnoreCase("true") ? Boolean.TRUE : text.equalsIgnoreCase("false") ? Boolean.FALSE : null);
  }

  /** A number. */
  static Option<Integer> count(String key, int otherwise, int least, int most, String help) {
    return of(key, otherwise, "a number from " + least + " to " + most, help, text -> {
      Long value = number(text, "");
      return value != null && value >= least && value <= most ? (Integer) value.intValue() : null;
    });
  }

  /** A time in milliseconds; values may have a unit. */
  static Option<Long> millis(String key, long otherwise, long least, long most, String help) {
    return of(key, otherwise, "milliseconds from " + least + " to " + most, help,
        text -> within(number(text, "ms1 s1000 sec1000 m60000 min60000 h3600000 d86400000"), least, most));
  }

  /** A size in bytes; values may have a unit. */
  static Option<Long> bytes(String key, long otherwise, long least, long most, String help) {
    return of(key, otherwise, "bytes from " + least + " to " + most, help, text -> within(number(text,
        "b1 k1024 kb1024 m1048576 mb1048576 g1073741824 gb1073741824 t1099511627776 tb1099511627776"), least, most));
  }

  /** Any text. */
  static Option<String> text(String key, String otherwise, String help) {
    return of(key, otherwise, "text", help, text -> text);
  }

  /** One of several words, in lower case. */
  static Option<String> choice(String key, String otherwise, String help, String... words) {
    return of(key, otherwise, either(words), help, text -> {
      String word = text.toLowerCase(Locale.ROOT);
      return Arrays.asList(words).contains(word) ? word : null;
    });
  }

  /** A share of a whole: above 0 and at most 1. */
  static Option<Double> share(String key, double otherwise, String help) {
    return of(key, otherwise, "a number above 0 and at most 1", help, text -> {
      if (!SHARE.matcher(text).matches()) {
        return null;
      }
      double value = Double.parseDouble(text);
      return value > 0 && value <= 1 ? (Double) value : null;
    });
  }

  /** The words as a choice for people: a, b or c. */
  private static String either(String... words) {
    int last = words.length - 1;
    return last == 0 ? words[0] : String.join(", ", Arrays.copyOf(words, last)) + " or " + words[last];
  }

  private static Long within(Long value, long least, long most) {
    return value != null && value >= least && value <= most ? value : null;
  }

  private static Long number(String text, String units) {
    Matcher matcher = NUMBER.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      return null;
    }
    long value = Long.parseLong(matcher.group(1));
    String unit = matcher.group(2);
    for (String known : units.split(" ")) {
      String name = known.replaceAll("\\d", "");
      if (!unit.isEmpty() && unit.equals(name)) {
        long factor = Long.parseLong(known.substring(name.length()));
        return value <= Long.MAX_VALUE / factor ? (Long) (value * factor) : null;
      }
    }
    return unit.isEmpty() ? (Long) value : null;
  }

  /** The same with older names, which count if the key is not set. */
  Option<T> alias(String... names) {
    return new Option<>(key, Arrays.asList(names), environment, otherwise, range, help, parser);
  }

  /** The same with a variable of the environment, which overrides the key. */
  Option<T> environment(String name) {
    return new Option<>(key, aliases, name, otherwise, range, help, parser);
  }

  // What it is.

  /** The name in configuration files. */
  public String key() {
    return key;
  }

  /** Other names. */
  public List<String> aliases() {
    return aliases;
  }

  /** The variable of the environment that overrides it, or null. */
  public String environmentName() {
    return environment;
  }

  /** The default; null if another option decides. */
  public T defaultValue() {
    return otherwise;
  }

  /** Values that are valid, for people. */
  public String range() {
    return range;
  }

  /** What it does, for people. */
  public String help() {
    return help;
  }

  /**
   * Reads a value.
   *
   * @param name under which it was found
   * @param where it was read, for messages
   */
  public T parse(String text, String name, String where) throws BadOptionException {
    T value = parser.parse(text.trim());
    if (value == null) {
      throw new BadOptionException(name + "=" + text + " (from " + where + "): " + range + " is needed", null);
    }
    return value;
  }

  /** The value in force: of the environment, the key, an older name, or the default. */
  public T read(Settings settings) throws BadOptionException {
    String text = environment == null ? null : settings.environment(environment);
    if (text != null && !text.trim().isEmpty()) {
      return parse(text, environment, "the environment");
    }
    T value = readKey(settings, key);
    for (int i = 0; value == null && i < aliases.size(); i++) {
      value = readKey(settings, aliases.get(i));
    }
    return value != null ? value : otherwise;
  }

  private T readKey(Settings settings, String name) throws BadOptionException {
    String text = settings.get(name);
    return text == null ? null : parse(text, name, settings.origin(name));
  }

  @Override
  public String toString() {
    return key;
  }
}
