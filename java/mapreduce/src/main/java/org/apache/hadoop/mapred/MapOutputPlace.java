package org.apache.hadoop.mapred;

import java.io.File;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** Where map outputs are within a NodeManager's local directory, as ShuffleHandler has it. */
public final class MapOutputPlace {
  private static final String USERS = "usercache/";
  private static final String APPLICATIONS = "/appcache/";
  private static final String OUTPUTS = "/output/";

  private MapOutputPlace() {
  }

  /** The folder of a job's outputs in a local directory; ends with a slash. */
  static String folder(JobID job, String user) {
    ApplicationId application = ApplicationId.newInstance(Long.parseLong(job.getJtIdentifier()), job.getId());
    return USERS + user + APPLICATIONS + application + OUTPUTS;
  }

  /**
   * The file of a map's output.
   *
   * @param root the local directory
   * @param map an attempt's name
   * @throws IllegalArgumentException if the directory is not an absolute path in its plain form, or the map no attempt
   */
  public static Path file(String root, JobID job, String user, String map) {
    Path folder = Paths.get(root);
    if (!folder.isAbsolute() || !folder.normalize().toString().equals(root)) {
      throw new IllegalArgumentException(root + " is no local directory");
    }
    if (!TaskAttemptID.forName(map).getJobID().equals(job)) {
      throw new IllegalArgumentException(map + " is of another job");
    }
    return folder.resolve(folder(job, user) + map).resolve(MapOutputFile.MAP_OUTPUT_FILENAME_STRING);
  }

  /** The local directory in which a map's output is; null if the file is not where outputs are. */
  static String root(File output, String folder, String map) {
    String path = output.getPath();
    String end = "/" + folder + map + "/" + MapOutputFile.MAP_OUTPUT_FILENAME_STRING;
    boolean there = output.isAbsolute() && path.endsWith(end) && path.length() > end.length();
    return there ? path.substring(0, path.length() - end.length()) : null;
  }
}
