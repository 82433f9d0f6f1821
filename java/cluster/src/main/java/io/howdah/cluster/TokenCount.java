package io.howdah.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * How often each token is in a text, counted by coreutils: the judge of what a cluster counts. A token is what Hadoop's
 * WordCount takes for one, a longest run without any of space, tab, line feed, form feed and carriage return. Results
 * are lines "token TAB count", sorted by bytes.
 */
final class TokenCount {
  private static final String PIPELINE = "set -euo pipefail\n"
      + "out=$1; shift\n"
      + "for file; do cat -- \"$file\"; echo; done | tr -s ' \\t\\n\\f\\r' '\\n' | sed '/^$/d' | sort | uniq -c"
      + " | sed -E 's/^ *([0-9]+) (.*)$/\\2\\t\\1/' | sort >\"$out\"\n";
  private static final String SORT = "set -euo pipefail\nsort -- \"$2\" >\"$1\"\n";

  private TokenCount() {
  }

  /** Files of a corpus: the file itself, or every regular file below a folder, sorted. */
  static List<Path> files(Path corpus) {
    List<Path> files = new ArrayList<>();
    try (Stream<Path> found = Files.walk(corpus)) {
      found.filter(Files::isRegularFile).sorted().forEach(files::add);
    } catch (IOException e) {
      throw new ClusterException("the text " + corpus + " can't be read: " + e.getMessage(), "choose one with --text");
    }
    if (files.isEmpty()) {
      throw new ClusterException("there is no text in " + corpus, "choose a file or folder with --text");
    }
    return files;
  }

  /** Fails unless the file is UTF-8, which is what Hadoop's text is: other bytes would be counted as something else. */
  static void requireUtf8(Path file) throws IOException {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
    java.nio.CharBuffer chars = java.nio.CharBuffer.allocate(1 << 16);
    try (FileChannel in = FileChannel.open(file)) {
      boolean end = false;
      while (!end) {
        end = in.read(bytes) < 0;
        bytes.flip();
        CoderResult result = decoder.decode(bytes, chars, end);
        if (result.isError()) {
          result.throwException();
        }
        chars.clear();
        bytes.compact();
      }
    } catch (CharacterCodingException e) {
      throw new ClusterException("the text " + file + " is not UTF-8", "convert it with iconv, or choose another text");
    }
  }

  /** Counts the tokens of files into a file. */
  static void count(List<Path> files, Path to) throws IOException {
    List<String> arguments = new ArrayList<>();
    arguments.add(to.toString());
    // A token never spans files: the pipeline ends each file's last line, as a mapper does.
    for (Path file : files) {
      arguments.add(file.toString());
    }
    shell(PIPELINE, arguments);
  }

  /** Sorts a cluster's result, which is sorted only within each of its parts. */
  static void sort(Path result, Path to) throws IOException {
    shell(SORT, Arrays.asList(to.toString(), result.toString()));
  }

  private static void shell(String script, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>(Arrays.asList("/bin/bash", "-c", script, "howdah"));
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command).inheritIO().redirectInput(new File("/dev/null"));
    builder.environment().put("LC_ALL", "C");
    try {
      int code = builder.start().waitFor();
      if (code != 0) {
        throw new ClusterException("coreutils could not count the text (exit code " + code + ")");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
  }

  /** SHA-256 of a file, in hexadecimal. */
  static String digest(Path file) throws IOException {
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      StringBuilder hex = new StringBuilder();
      for (byte b : sha.digest(Files.readAllBytes(file))) {
        hex.append(String.format("%02x", b));
      }
      return hex.toString();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Different tokens and all tokens in a result. */
  static long[] totals(Path result) throws IOException {
    long distinct = 0;
    long all = 0;
    try (Stream<String> lines = Files.lines(result)) {
      for (String line : (Iterable<String>) lines::iterator) {
        distinct++;
        all += Long.parseLong(line.substring(line.lastIndexOf('\t') + 1));
      }
    }
    return new long[] {distinct, all};
  }
}
