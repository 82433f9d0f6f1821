package names;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Uses files of awkward names through WebHDFS and checks by HDFS's own protocol that the right file, and no other, was reached:
 * hadoop names.WebHdfsNames WEBHDFS-URI FOLDER NAME...
 */
public final class WebHdfsNames {

  private final FileSystem web;
  private final FileSystem hdfs;
  private final Path folder;
  private final List<String> names;
  private final List<String> wrong = new ArrayList<>();

  private WebHdfsNames(FileSystem web, FileSystem hdfs, Path folder, List<String> names) {
    this.web = web;
    this.hdfs = hdfs;
    this.folder = folder;
    this.names = names;
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    WebHdfsNames test = new WebHdfsNames(new Path(args[0]).getFileSystem(conf), FileSystem.get(conf), new Path(args[1]),
        Arrays.asList(args).subList(2, args.length));
    test.names.forEach(test::use);
    test.wrong.forEach(System.out::println);
    System.out.println(test.names.size() + " names, " + test.wrong.size() + " failures");
    System.exit(test.wrong.isEmpty() ? 0 : 1);
  }

  /** An empty file of every other name stands beside it: a request that goes astray changes one of them. */
  private void use(String name) {
    Path file = new Path(folder, name);
    Path moved = new Path(new Path(folder, "moved"), name);
    check(name, "prepare", () -> {
      hdfs.delete(folder, true);
      hdfs.mkdirs(moved.getParent());
      for (String other : names) {
        if (!other.equals(name)) {
          hdfs.create(new Path(folder, other)).close();
        }
      }
      return true;
    });
    check(name, "create", () -> put(web.create(file), "one") && read(hdfs, file).equals("one"));
    check(name, "append", () -> put(web.append(file), "two") && read(hdfs, file).equals("onetwo"));
    check(name, "open", () -> read(web, file).equals("onetwo"));
    check(name, "seek", () -> {
      try (FSDataInputStream in = web.open(file)) {
        in.seek(3);
        return in.read() == 't';
      }
    });
    check(name, "status", () -> web.getFileStatus(file).getLen() == 6 && web.getFileStatus(file).getPath().getName().equals(name));
    check(name, "checksum", () -> web.getFileChecksum(file).equals(hdfs.getFileChecksum(file)));
    check(name, "locations", () -> web.getFileBlockLocations(file, 0, 6).length == 1);
    check(name, "list", () -> listed(web).contains(name) && listed(web).equals(listed(hdfs)));
    check(name, "xattr", () -> {
      web.setXAttr(file, "user." + name, name.getBytes(StandardCharsets.UTF_8));
      return Arrays.equals(hdfs.getXAttr(file, "user." + name), name.getBytes(StandardCharsets.UTF_8))
          && Arrays.equals(web.getXAttr(file, "user." + name), name.getBytes(StandardCharsets.UTF_8));
    });
    check(name, "times", () -> {
      web.setTimes(file, 12345, -1);
      return hdfs.getFileStatus(file).getModificationTime() == 12345;
    });
    check(name, "rename", () -> web.rename(file, moved) && read(hdfs, moved).equals("onetwo") && !hdfs.exists(file));
    check(name, "rename back", () -> web.rename(moved, file) && read(hdfs, file).equals("onetwo"));
    check(name, "truncate", () -> web.truncate(file, 0) && hdfs.getFileStatus(file).getLen() == 0);
    check(name, "delete", () -> web.delete(file, false) && !hdfs.exists(file));
    check(name, "mkdirs", () -> web.mkdirs(new Path(file, name)) && hdfs.getFileStatus(new Path(file, name)).isDirectory());
    check(name, "list below", () -> web.listStatus(file).length == 1 && web.listStatus(file)[0].getPath().getName().equals(name));
    check(name, "the others", () -> {
      for (FileStatus status : hdfs.listStatus(folder)) {
        if (status.isFile() && status.getLen() != 0) {
          return false;
        }
      }
      return listed(hdfs).size() == names.size() + 1;
    });
  }

  private void check(String name, String what, Callable<Boolean> test) {
    try {
      if (!test.call()) {
        wrong.add(name + ": " + what + ": not what it should be");
      }
    } catch (Exception e) {
      wrong.add(name + ": " + what + ": " + e.toString().split("\n")[0]);
    }
  }

  private List<String> listed(FileSystem fs) throws IOException {
    List<String> found = new ArrayList<>();
    for (FileStatus status : fs.listStatus(folder)) {
      found.add(status.getPath().getName());
    }
    return found;
  }

  private static boolean put(OutputStream to, String text) throws IOException {
    try (OutputStream out = to) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return true;
  }

  private static String read(FileSystem fs, Path file) throws IOException {
    byte[] bytes = new byte[100];
    int length = 0;
    try (InputStream in = fs.open(file)) {
      for (int n = 0; n >= 0 && length < bytes.length; n = in.read(bytes, length, bytes.length - length)) {
        length += n;
      }
    }
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }
}
