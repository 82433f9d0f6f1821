package io.howdah.storage.command;

import java.io.IOException;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import picocli.CommandLine;

/** The file system that a command asks. */
final class Hdfs {
  private Hdfs() {
  }

  /** Runs a command: 0 done, 1 failed with a message, 2 wrong usage. */
  static int run(Callable<Integer> command, String... arguments) {
    return new CommandLine(command).setExecutionExceptionHandler((e, line, parsed) -> {
      String message = e.getMessage() == null ? e.toString() : e.getMessage();
      System.err.println("howdah: error: " + message.split("\n")[0]);
      return 1;
    }).execute(arguments);
  }

  /**
   * The file system of a path, or the default one.
   *
   * @throws IOException if it is not HDFS
   */
  static DistributedFileSystem of(Path path) throws IOException {
    Configuration conf = new HdfsConfiguration();
    FileSystem fs = path == null ? FileSystem.get(conf) : path.getFileSystem(conf);
    if (!(fs instanceof DistributedFileSystem)) {
      throw new IOException(fs.getUri() + " is not HDFS: set fs.defaultFS, or name a path with hdfs://");
    }
    return (DistributedFileSystem) fs;
  }
}
