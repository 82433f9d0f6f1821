package io.howdah.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TextInputFormat;
import org.apache.hadoop.security.UserGroupInformation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A shared path is as HDFS to jobs: names, owners, permissions, and what a writer has flushed. */
class SharedFileSystemTest {
  private static final short PRIVATE = 0700;

  @TempDir
  java.nio.file.Path folder;

  private final Configuration conf = new Configuration();
  private FileSystem fs;
  private Path root;

  @BeforeEach
  void open() throws IOException {
    conf.set("fs.defaultFS", "shared:///");
    conf.set("fs.AbstractFileSystem.shared.impl", SharedFs.class.getName());
    conf.setLong("fs.local.block.size", 256L << 20);
    fs = FileSystem.get(conf);
    root = new Path(folder.toString());
  }

  private Path file(String name, String text) throws IOException {
    Path path = new Path(root, name);
    try (FSDataOutputStream out = fs.create(path)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return path;
  }

  private String read(Path path) throws IOException {
    byte[] bytes = new byte[(int) fs.getFileStatus(path).getLen()];
    try (FSDataInputStream in = fs.open(path)) {
      IOUtils.readFully(in, bytes, 0, bytes.length);
    }
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Test
  void filesAreThereUnderTheirOrdinaryNames() throws IOException {
    assertThat(fs).isInstanceOf(SharedFileSystem.class);
    Path path = file("a/b", "text");
    assertThat(Files.readAllBytes(folder.resolve("a/b"))).isEqualTo("text".getBytes(StandardCharsets.UTF_8));
    try (Stream<java.nio.file.Path> all = Files.list(folder.resolve("a"))) {
      assertThat(all).as("no .crc").containsExactly(folder.resolve("a/b"));
    }
    FileStatus status = fs.getFileStatus(path);
    assertThat(status.getPath().toUri()).isEqualTo(URI.create("shared://" + folder + "/a/b"));
    assertThat(status.getBlockSize()).isEqualTo(256L << 20);
    assertThat(status.getOwner()).isEqualTo(UserGroupInformation.getCurrentUser().getShortUserName());
    assertThat(status.getPermission()).isEqualTo(FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(conf)));
    assertThat(fs.getFileStatus(root).isDirectory()).isTrue();
    assertThat(fs.listStatus(new Path(root, "a"))).containsExactly(status);
    assertThat(fs.listStatus(path)).containsExactly(status);
    assertThat(fs.delete(path, false)).isTrue();
    assertThat(fs.delete(path, false)).isFalse();
    assertThatThrownBy(() -> fs.getFileStatus(path)).isInstanceOf(FileNotFoundException.class);
    assertThatThrownBy(() -> fs.listStatus(path)).isInstanceOf(FileNotFoundException.class);
    assertThatThrownBy(() -> fs.open(path)).isInstanceOf(FileNotFoundException.class);
    assertThatThrownBy(() -> fs.append(path)).isInstanceOf(FileNotFoundException.class);
    assertThatThrownBy(() -> fs.setPermission(path, FsPermission.getDefault()))
        .isInstanceOf(FileNotFoundException.class);
  }

  @Test
  void everyNodeIsAsNearAsAnyOther() throws IOException {
    Path path = file("f", "text");
    BlockLocation[] places = fs.getFileBlockLocations(path, 1, 2);
    assertThat(places).hasSize(1);
    assertThat(places[0].getHosts()).isEmpty();
    assertThat(places[0].getLength()).isEqualTo(4);
    assertThat(fs.getFileBlockLocations(path, 4, 1)).isEmpty();
    JobConf job = new JobConf(conf);
    FileInputFormat.setInputPaths(job, path);
    TextInputFormat format = new TextInputFormat();
    format.configure(job);
    InputSplit[] splits = format.getSplits(job, 1);
    assertThat(splits).hasSize(1);
    assertThat(splits[0].getLocations()).isEmpty();
  }

  @Test
  void whatWasFlushedIsSeen() throws IOException {
    Path path = new Path(root, "log");
    byte[] large = new byte[3 << 20];
    Arrays.fill(large, (byte) 'x');
    try (FSDataOutputStream out = fs.create(path)) {
      out.write('a');
      assertThat(fs.getFileStatus(path).getLen()).isZero();
      out.hflush();
      assertThat(read(path)).isEqualTo("a");
      out.write('b');
      out.hsync();
      assertThat(read(path)).isEqualTo("ab");
      out.write('c');
      out.write(large);
      out.write(large, 0, 1000);
      assertThat(out.getPos()).isEqualTo(3 + large.length + 1000);
    }
    assertThat(fs.getFileStatus(path).getLen()).isEqualTo(3 + large.length + 1000);
    assertThat(read(path)).startsWith("abcxxx").endsWith("xxx");
    try (FSDataOutputStream out = fs.append(path)) {
      assertThat(out.getPos()).isEqualTo(3 + large.length + 1000);
      out.write('d');
    }
    assertThat(read(path)).endsWith("xd");
    assertThatThrownBy(() -> fs.append(root)).isInstanceOf(IOException.class);
  }

  @Test
  void filesAreOverwrittenOnlyIfThatIsWanted() throws IOException {
    Path path = file("f", "first, and longer");
    assertThatThrownBy(() -> fs.create(path, false)).isInstanceOf(FileAlreadyExistsException.class);
    assertThat(read(path)).isEqualTo("first, and longer");
    file("f", "second");
    assertThat(read(path)).isEqualTo("second");
    assertThatThrownBy(() -> fs.create(root)).isInstanceOf(FileAlreadyExistsException.class);
    assertThatThrownBy(() -> fs.createNonRecursive(new Path(root, "no/such"), true, 4096, (short) 1, 1 << 20, null))
        .isInstanceOf(FileNotFoundException.class);
    assertThatThrownBy(() -> fs.create(new Path(path, "below"))).isInstanceOf(IOException.class);
  }

  @Test
  void permissionsAreThoseThatWereSet() throws IOException {
    Path path = file("f", "");
    for (short bits : new short[] {0, 0400, 0640, 0751, 0777, 0666}) {
      fs.setPermission(path, new FsPermission(bits));
      assertThat(fs.getFileStatus(path).getPermission().toShort()).isEqualTo(bits);
    }
    Path staging = new Path(root, "staging");
    assertThat(fs.mkdirs(staging, new FsPermission(PRIVATE))).isTrue();
    assertThat(fs.getFileStatus(staging).getPermission().toShort()).isEqualTo(PRIVATE);
    fs.setPermission(staging, new FsPermission((short) 01777));
    assertThat(fs.getFileStatus(staging).getPermission().toShort()).isEqualTo((short) 01777);
    fs.setPermission(staging, new FsPermission(PRIVATE));
    assertThat(fs.getFileStatus(staging).getPermission().toShort()).isEqualTo(PRIVATE);
    FileStatus before = fs.getFileStatus(path);
    fs.setOwner(path, before.getOwner(), before.getGroup());
    assertThat(fs.getFileStatus(path)).isEqualTo(before);
    assertThatThrownBy(() -> fs.setOwner(path, "no such user", null)).isInstanceOf(IOException.class);
  }

  @Test
  void renamesAreThoseOfHdfs() throws IOException {
    Path one = file("one", "1");
    Path two = file("two", "2");
    assertThat(fs.rename(new Path(root, "none"), new Path(root, "other"))).isFalse();
    assertThat(fs.rename(one, two)).as("over a file").isFalse();
    assertThat(fs.rename(one, new Path(root, "no/such"))).as("into no folder").isFalse();
    assertThat(fs.rename(one, one)).isTrue();
    Path into = new Path(root, "into");
    fs.mkdirs(into);
    assertThat(fs.rename(one, into)).isTrue();
    assertThat(read(new Path(into, "one"))).isEqualTo("1");
    file("one", "again");
    assertThat(fs.rename(one, into)).as("over a file in the folder").isFalse();
    assertThat(read(new Path(into, "one"))).isEqualTo("1");
    assertThat(fs.rename(into, new Path(into, "below"))).as("below itself").isFalse();
    assertThat(fs.rename(into, new Path(root, "moved"))).isTrue();
    assertThat(read(new Path(root, "moved/one"))).isEqualTo("1");
    assertThat(read(two)).isEqualTo("2");
  }

  @Test
  void fileContextsHaveItToo() throws IOException {
    FileContext context = FileContext.getFileContext(conf);
    Path path = context.makeQualified(new Path(root, "done"));
    context.create(path, EnumSet.of(CreateFlag.CREATE), Options.CreateOpts.createParent()).close();
    Path other = file("other", "text");
    context.rename(context.makeQualified(other), path, Options.Rename.OVERWRITE);
    assertThat(read(path)).isEqualTo("text");
    assertThat(context.getFileStatus(path).getPath().toString()).isEqualTo(path.toString());
    assertThat(path.toUri().getScheme()).isEqualTo("shared");
  }

  @Test
  void linksAreFollowed() throws IOException {
    Path path = file("f", "text");
    Files.createSymbolicLink(folder.resolve("link"), folder.resolve("f"));
    Files.createSymbolicLink(folder.resolve("broken"), folder.resolve("nothing"));
    assertThat(read(new Path(root, "link"))).isEqualTo("text");
    assertThat(fs.getFileLinkStatus(new Path(root, "link")).isSymlink()).isTrue();
    assertThat(fs.listStatus(root)).as("what leads nowhere is left out").hasSize(2);
    assertThat(fs.delete(new Path(root, "link"), false)).isTrue();
    assertThat(read(path)).isEqualTo("text");
  }
}
