package io.howdah.storage.shared;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How Lustre lays out the files that are made in a folder, set by its command {@code lfs}. Copies begin in one folder
 * of each DataNode and are renamed from there, so one call for that folder is enough. Immutable.
 */
public final class Stripes {
  private static final String LUSTRE = "lustre";

  private final int count;
  private final long size;
  private final long timeout;

  /** As the settings say. The command ends well before whoever waits for the shared path gives up. */
  public Stripes(SharedSettings settings) {
    this(settings.stripes(), settings.stripeSize(), settings.timeout() / 2);
  }

  /**
   * A layout.
   *
   * @param count storage targets of a file; 0: as the file system has it
   * @param size bytes on one of them before the next; 0 likewise
   * @param timeout milliseconds that the command may take
   */
  Stripes(int count, long size, long timeout) {
    this.count = count;
    this.size = size;
    this.timeout = timeout;
  }

  /**
   * Sets the layout of new files in a folder, if that is on Lustre.
   *
   * @throws IOException if it could not be set; files are then laid out as the file system has it
   */
  public void set(Path folder) throws IOException {
    set(folder, Files.getFileStore(folder).type(), System.getenv("PATH"));
  }

  void set(Path folder, String fileSystem, String searchPath) throws IOException {
    if (!LUSTRE.equals(fileSystem) || count == 0 && size == 0) {
      return;
    }
    Path lfs = find(searchPath == null ? "" : searchPath);
    if (lfs == null) {
      throw new IOException("lfs is not on the PATH of the DataNode");
    }
    List<String> command = new ArrayList<>();
    command.add(lfs.toString());
    command.add("setstripe");
    if (count > 0) {
      command.add("-c");
      command.add(Integer.toString(count));
    }
    if (size > 0) {
      command.add("-S");
      command.add(Long.toString(size));
    }
    command.add(folder.toString());
    run(command);
  }

  private static Path find(String searchPath) {
    for (String folder : searchPath.split(File.pathSeparator)) {
      try {
        Path file = Paths.get(folder, "lfs");
        if (!folder.isEmpty() && Files.isRegularFile(file) && Files.isExecutable(file)) {
          return file;
        }
      } catch (InvalidPathException e) {
        continue; // no folder
      }
    }
    return null;
  }

  private void run(List<String> command) throws IOException {
    String text = String.join(" ", command);
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      process.getOutputStream().close();
      if (!process.waitFor(timeout, TimeUnit.MILLISECONDS)) {
        throw new IOException(text + " did not end within " + timeout + " ms");
      }
      if (process.exitValue() != 0) {
        throw new IOException(text + " ended with " + process.exitValue() + ": " + firstLine(process));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException(text).initCause(e);
    } finally {
      process.destroyForcibly();
    }
  }

  private static String firstLine(Process process) throws IOException {
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String line = in.readLine();
      return line == null ? "it says nothing" : line;
    }
  }
}
