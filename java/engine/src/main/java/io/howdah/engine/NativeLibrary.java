package io.howdah.engine;

import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Finds and loads libhowdah_jni.so: in the folder of the property {@value #FOLDER}, in the tree ($HOWDAH_HOME, or the
 * one that our jar lies in), where packages put it, and at last out of our jar. The first that exists decides; what
 * is there and does not load is a reported failure, never a reason to try the next.
 */
final class NativeLibrary {
  /** Folder of libhowdah_jni.so and libhowdah.so.0. If it is set, nothing else is looked at. */
  static final String FOLDER = "io.howdah.native";
  /** Kill switch: off, false or 0. */
  static final String SWITCH = "io.howdah.engine";
  static final String SWITCH_VARIABLE = "HOWDAH_ENGINE";

  static final String JNI = "libhowdah_jni.so";
  static final String CORE = "libhowdah.so.0";

  private final Map<String, String> environment;
  private final List<Path> packageFolders;

  NativeLibrary(Map<String, String> environment, List<Path> packageFolders) {
    this.environment = environment;
    this.packageFolders = packageFolders;
  }

  static NativeLibrary ofThisProcess() {
    List<Path> folders = new ArrayList<>();
    for (String lib : new String[] {"/usr/lib", "/usr/lib64", "/usr/lib/" + arch() + "-linux-gnu"}) {
      folders.add(Paths.get(lib, "howdah", "lib", "native"));
      folders.add(Paths.get(lib, "howdah"));
    }
    return new NativeLibrary(System.getenv(), folders);
  }

  private static String arch() {
    String arch = System.getProperty("os.arch");
    return "amd64".equals(arch) ? "x86_64" : "ppc64le".equals(arch) ? "powerpc64le" : arch;
  }

  /** Loads the library. @return where from */
  String load() throws EngineUnavailableException {
    refuseIfSwitchedOff();
    if (!"linux".equals(System.getProperty("os.name").toLowerCase(Locale.ROOT))) {
      throw unavailable("the engine runs on Linux only", null);
    }
    Path found = find();
    String where = found == null ? extractAndLoad() : loadFile(found);
    if (Native.abi() != Native.ABI) {
      throw unavailable(where + " has interface " + Native.abi() + ", the classes have " + Native.ABI, null);
    }
    return where;
  }

  private void refuseIfSwitchedOff() throws EngineUnavailableException {
    String property = System.getProperty(SWITCH);
    String variable = environment.get(SWITCH_VARIABLE);
    if (isOff(SWITCH, property)) {
      throw unavailable("switched off by the system property " + SWITCH + "=" + property, null);
    }
    if (property == null && isOff(SWITCH_VARIABLE, variable)) {
      throw unavailable("switched off by the environment: " + SWITCH_VARIABLE + "=" + variable, null);
    }
  }

  private static boolean isOff(String name, String value) throws EngineUnavailableException {
    if (value == null || value.isEmpty() || value.matches("(?i)on|true|1")) {
      return false;
    }
    if (value.matches("(?i)off|false|0")) {
      return true;
    }
    throw unavailable(name + "=" + value + " is neither on nor off", null);
  }

  /** The library's file, or null if only our jar may have it. */
  Path find() throws EngineUnavailableException {
    String folder = System.getProperty(FOLDER);
    if (folder != null) {
      Path file = Paths.get(folder, JNI);
      if (!Files.isRegularFile(file)) {
        throw unavailable("there is no " + file + ", the place that the system property " + FOLDER + " names", null);
      }
      return file;
    }
    for (Path candidate : candidates()) {
      if (Files.isRegularFile(candidate)) {
        return candidate.toAbsolutePath();
      }
    }
    return null;
  }

  Set<Path> candidates() {
    Set<Path> files = new LinkedHashSet<>();
    String home = environment.get("HOWDAH_HOME");
    if (home != null && !home.isEmpty()) {
      files.add(Paths.get(home, "lib", "native", JNI));
    }
    Path jar = codeSource();
    if (jar != null && jar.getParent() != null) {
      Path tree = jar.getParent().resolve("../..").normalize(); // share/howdah/howdah-engine-*.jar
      files.add(tree.resolve("lib/native").resolve(JNI));
    }
    for (Path folder : packageFolders) {
      files.add(folder.resolve(JNI));
    }
    return files;
  }

  private static Path codeSource() {
    try {
      URL location = NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation();
      return "file".equals(location.getProtocol()) ? Paths.get(location.toURI()).toRealPath() : null;
    } catch (URISyntaxException | IOException | RuntimeException e) {
      return null; // a class loader that keeps its sources to itself; the other places remain
    }
  }

  private static String loadFile(Path file) throws EngineUnavailableException {
    try {
      System.load(file.toAbsolutePath().toString());
    } catch (LinkageError e) {
      throw unavailable(file + " does not load: " + e.getMessage() + hint(e), e);
    }
    return file.toString();
  }

  private static String hint(LinkageError e) {
    String text = String.valueOf(e.getMessage());
    if (text.contains("another classloader")) {
      return "; put howdah-engine's jar where one class loader serves all that use it";
    }
    return text.contains("failed to map segment") ? "; its file system is mounted noexec" : "";
  }

  /** Our jar's own copy goes into a new folder that only this user can enter, and is gone again once it is loaded. */
  private String extractAndLoad() throws EngineUnavailableException {
    String from = "native/" + System.getProperty("os.arch") + "/";
    if (NativeLibrary.class.getResource(from + JNI) == null) {
      throw unavailable("there is no " + JNI + " in " + candidates().stream().map(file -> file.getParent().toString())
          .collect(Collectors.joining(", ")) + ", and none for " + System.getProperty("os.arch") + " in the jar", null);
    }
    Path folder = null;
    try {
      folder = Files.createTempDirectory("howdah-native-",
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      for (String name : new String[] {CORE, JNI}) {
        try (InputStream in = NativeLibrary.class.getResourceAsStream(from + name)) {
          if (in == null) {
            throw unavailable("the jar has " + JNI + " but not " + name, null);
          }
          Files.copy(in, folder.resolve(name));
        }
      }
      loadFile(folder.resolve(JNI));
      return "the jar";
    } catch (IOException e) {
      if (e instanceof EngineUnavailableException) {
        throw (EngineUnavailableException) e;
      }
      throw unavailable("the library can't be taken out of the jar: " + e + "; -Djava.io.tmpdir names another place, -D"
          + FOLDER + " a ready library", e);
    } finally {
      delete(folder);
    }
  }

  private static void delete(Path folder) {
    if (folder == null) {
      return;
    }
    for (Path file : new Path[] {folder.resolve(JNI), folder.resolve(CORE), folder}) {
      try {
        Files.deleteIfExists(file);
      } catch (IOException e) {
        file.toFile().deleteOnExit();
      }
    }
  }

  private static EngineUnavailableException unavailable(String message, Throwable cause) {
    return new EngineUnavailableException(message, cause);
  }
}
