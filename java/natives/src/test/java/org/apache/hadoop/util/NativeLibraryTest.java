package org.apache.hadoop.util;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library as a whole: what is in it, and what it says where another library is missing. */
class NativeLibraryTest {
  /** Every class of Hadoop 2.8.1 that declares native methods, but for Windows' own. */
  private static final List<String> CLASSES = Arrays.asList(
      "util.NativeCodeLoader", "util.NativeCrc32", "net.unix.DomainSocket", "net.unix.DomainSocketWatcher",
      "net.unix.DomainSocketWatcher$FdSet", "crypto.random.OpensslSecureRandom", "crypto.OpensslCipher",
      "io.nativeio.NativeIO", "io.nativeio.NativeIO$POSIX", "io.nativeio.SharedFileDescriptorFactory",
      "io.compress.lz4.Lz4Compressor", "io.compress.lz4.Lz4Decompressor", "io.compress.snappy.SnappyCompressor",
      "io.compress.snappy.SnappyDecompressor", "io.compress.zlib.ZlibCompressor", "io.compress.zlib.ZlibDecompressor",
      "io.compress.bzip2.Bzip2Compressor", "io.compress.bzip2.Bzip2Decompressor",
      "security.JniBasedUnixGroupsMapping", "security.JniBasedUnixGroupsNetgroupMapping");

  @TempDir
  Path folder;

  private static File library() {
    return new File(System.getProperty("howdah.test.natives"), "libhadoop.so");
  }

  private static List<String> output(ProcessBuilder command) throws Exception {
    Process process = command.redirectErrorStream(true).start();
    List<String> lines = new ArrayList<>();
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        lines.add(line);
      }
    }
    process.waitFor();
    return lines;
  }

  private static String symbol(Method method) {
    return "Java_" + (method.getDeclaringClass().getName() + "." + method.getName())
        .replace("_", "_1").replace("$", "_00024").replace('.', '_');
  }

  @Test
  void everyNativeMethodIsThereAndNothingElse() throws Exception {
    Set<String> symbols = new HashSet<>();
    for (String line : output(new ProcessBuilder("nm", "-D", "--defined-only", library().getPath()))) {
      symbols.add(line.replaceAll(".* ", "").replaceAll("__[IJ]$", ""));
    }
    Set<String> wanted = new HashSet<>();
    wanted.add("JNI_OnLoad");
    for (String name : CLASSES) {
      Class<?> type = Class.forName("org.apache.hadoop." + name, false, getClass().getClassLoader());
      for (Method method : type.getDeclaredMethods()) {
        if (Modifier.isNative(method.getModifiers())) {
          wanted.add(symbol(method));
        }
      }
    }
    assertThat(symbols).isEqualTo(wanted);
  }

  private List<String> check(Path libraries) throws Exception {
    ProcessBuilder command = new ProcessBuilder(System.getProperty("java.home") + "/bin/java",
        "-Djava.library.path=" + library().getParent(), "-cp", System.getProperty("java.class.path"),
        "org.apache.hadoop.util.NativeLibraryChecker", "-a");
    if (libraries != null) {
      command.environment().put("LD_LIBRARY_PATH", libraries.toString());
    }
    return output(command);
  }

  @Test
  void checkNativeFindsWhatTheSystemHas() throws Exception {
    assertThat(check(null)).anyMatch(line -> line.matches("hadoop: +true .*/libhadoop.so"))
        .anyMatch(line -> line.matches("zlib: +true .*/libz.so.*"))
        .anyMatch(line -> line.matches("snappy: +true .*/libsnappy.so.*"))
        .anyMatch(line -> line.matches("lz4: +true .*/liblz4.so.*"))
        .anyMatch(line -> line.matches("bzip2: +true .*/libbz2.so.*"))
        .anyMatch(line -> line.matches("openssl: +true .*/libcrypto.so.*"));
  }

  @Test
  void aLibraryThatDoesNotLoadIsNamedAndTheOthersWork() throws Exception {
    for (String name : Arrays.asList("libsnappy.so.1", "libcrypto.so.3", "libcrypto.so.1.1", "libbz2.so.1.0",
        "libbz2.so.1")) {
      Files.write(folder.resolve(name), "no library".getBytes(StandardCharsets.UTF_8));
    }
    List<String> lines = check(folder);
    assertThat(lines).anyMatch(line -> line.matches("hadoop: +true .*"))
        .anyMatch(line -> line.matches("snappy: +false.*"))
        .anyMatch(line -> line.contains("libsnappy.so.1 cannot be loaded (package libsnappy1v5 or snappy)"))
        .anyMatch(line -> line.matches("openssl: +false libcrypto.so.3 cannot be loaded .*"))
        .anyMatch(line -> line.matches("bzip2: +false.*"))
        .anyMatch(line -> line.matches("zlib: +true .*"));
  }
}
