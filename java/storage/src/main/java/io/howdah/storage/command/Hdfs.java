package io.howdah.storage.command;

import java.io.IOException;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import picocli.CommandLine;

/** The file system that a command asks. */
final class Hdfs {
  private Hdfs() {
  }

  /** Runs a command: 0 done, 1 failed with a message, 2 wrong usage. */
  static int run(Callable<Integer> command, String... arguments) {
    Logger.getLogger("org.apache.hadoop.ipc.Client").setLevel(Level.ERROR); // the command says itself what failed
    return new CommandLine(command).setExecutionExceptionHandler((e, line, parsed) -> {
      System.err.println("howdah: error: " + Words.reason(e));
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
    // A command gives up sooner than a job: two tries of 20 s where a host does not answer, and about a minute where
    // two NameNodes refuse connections, which is longer than a failover takes.
    conf.setInt("ipc.client.connect.max.retries.on.timeouts", 1);
    conf.setInt("dfs.client.failover.max.attempts", 7);
    FileSystem fs = path == null ? FileSystem.get(conf) : path.getFileSystem(conf);
    if (!(fs instanceof DistributedFileSystem)) {
      throw new IOException(fs.getUri() + " is not HDFS: set fs.defaultFS, or name a path with hdfs://");
    }
    return (DistributedFileSystem) fs;
  }
}
