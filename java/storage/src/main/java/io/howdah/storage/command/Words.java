package io.howdah.storage.command;

import java.io.IOException;
import java.net.UnknownHostException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What commands say, in words for people. */
final class Words {
  /** Of Hadoop's RPC, when a server cannot be reached: its address and Java's exception. */
  private static final Pattern UNREACHABLE = Pattern.compile("(?s).*? to (\\S+:\\d+) failed on (?:connection|socket "
      + "timeout) exception: [\\w.$]+: (.*?);? *For more details .*");

  private Words() {
  }

  /** A number and a noun, which gets an s unless the number is 1. */
  static String count(long number, String noun) {
    return number + " " + noun + (number == 1 ? "" : "s");
  }

  /** Why something failed, in one line. */
  static String reason(Exception e) {
    if (e.getMessage() == null) {
      return e.toString();
    }
    if (e.getCause() instanceof UnknownHostException && e instanceof IllegalArgumentException) {
      return reason((UnknownHostException) e.getCause()); // of a host that a configuration names
    }
    String line = e.getMessage().split("\n")[0].replaceFirst(";? *For more details see: .*", "");
    Matcher unreachable = UNREACHABLE.matcher(e.getMessage());
    if (e instanceof IOException && unreachable.matches()) {
      return "the NameNode " + unreachable.group(1) + " does not answer (" + once(unreachable.group(2))
          + "): is it running?";
    }
    return e instanceof UnknownHostException && !line.contains(" ") ? "there is no host " + line : once(line);
  }

  /** Java says some reasons twice, the second time in parentheses. */
  private static String once(String text) {
    return text.replaceFirst("^(.+) \\(\\1\\)$", "$1");
  }
}
