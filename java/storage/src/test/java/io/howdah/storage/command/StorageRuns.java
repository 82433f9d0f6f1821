package io.howdah.storage.command;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** Runs commands for tests of other packages; each returns what the command prints. */
public final class StorageRuns {
  private StorageRuns() {
  }

  /** howdah storage gc. */
  public static String gc(DistributedFileSystem fs, Path path, long age, boolean isDeleting) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new SharedGc(fs, path, age, new PrintStream(out, true, "UTF-8")).run(isDeleting);
    return out.toString("UTF-8");
  }

  /** howdah storage import. */
  public static String importing(Configuration conf) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new SharedImport(conf, new PrintStream(out, true, "UTF-8")).run();
    return out.toString("UTF-8");
  }
}
