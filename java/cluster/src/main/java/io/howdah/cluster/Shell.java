package io.howdah.cluster;

/** Words for a POSIX shell. */
final class Shell {
  private Shell() {
  }

  /** The text as one word, quoted where it has to be. */
  static String quote(String text) {
    if (text.matches("[A-Za-z0-9_/.:=@%+,-]+")) {
      return text;
    }
    return "'" + text.replace("'", "'\\''") + "'";
  }
}
