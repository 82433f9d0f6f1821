package org.apache.hadoop.io.nativeio;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.Permission;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.SecureIOUtils;
import org.apache.hadoop.io.nativeio.NativeIO.POSIX;
import org.apache.hadoop.util.Shell;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls of the system on files and memory. */
class NativeIoTest {
  @TempDir
  Path folder;

  private String path(String name) {
    return folder.resolve(name).toString();
  }

  private static Errno errno(Throwable error) {
    assertThat(error).isInstanceOf(NativeIOException.class);
    return ((NativeIOException) error).getErrno();
  }

  @Test
  void constantsAreThoseOfLinux() {
    assertThat(NativeIO.isAvailable()).isTrue();
    assertThat(POSIX.O_CREAT).isEqualTo(0100);
    assertThat(POSIX.O_APPEND).isEqualTo(02000);
    assertThat(POSIX.POSIX_FADV_DONTNEED).isEqualTo(4);
    assertThat(POSIX.fadvisePossible).isTrue();
    assertThat(POSIX.Stat.S_IFMT).isEqualTo(0170000);
    assertThat(POSIX.Stat.S_IRUSR).isEqualTo(0400);
    assertThat(NativeIO.getMemlockLimit()).isPositive();
  }

  @Test
  void opensAndLooksAtFiles() throws Exception {
    FileDescriptor fd = POSIX.open(path("a"), POSIX.O_WRONLY | POSIX.O_CREAT | POSIX.O_EXCL, 0600);
    try (FileOutputStream out = new FileOutputStream(fd)) {
      out.write(new byte[10000]);
      POSIX.Stat stat = POSIX.getFstat(fd);
      assertThat(stat.getOwner()).isEqualTo(System.getProperty("user.name"));
      assertThat(stat.getMode() & POSIX.Stat.S_IFMT).isEqualTo(POSIX.Stat.S_IFREG);
      assertThat(stat.getMode() & 0777).isEqualTo(0600);
      assertThat(NativeIO.getOwner(fd)).isEqualTo(System.getProperty("user.name"));
      POSIX.posixFadviseIfPossible("a", fd, 0, 0, POSIX.POSIX_FADV_DONTNEED);
      POSIX.syncFileRangeIfPossible(fd, 0, 1024, POSIX.SYNC_FILE_RANGE_WRITE);
      long memory = POSIX.mmap(openForReading("a"), POSIX.MMAP_PROT_READ, true, 10000);
      assertThat(memory).isNotZero();
      POSIX.munmap(memory, 10000);
    }
    assertThatThrownBy(() -> POSIX.open(path("a"), POSIX.O_WRONLY | POSIX.O_CREAT | POSIX.O_EXCL, 0600))
        .satisfies(e -> assertThat(errno(e)).isEqualTo(Errno.EEXIST)).hasMessage("File exists");
    assertThatThrownBy(() -> POSIX.open(path("none"), POSIX.O_RDONLY, 0))
        .satisfies(e -> assertThat(errno(e)).isEqualTo(Errno.ENOENT)).hasToString("ENOENT: No such file or directory");
  }

  private FileDescriptor openForReading(String name) throws IOException {
    return POSIX.open(path(name), POSIX.O_RDONLY, 0);
  }

  @Test
  void closedAndMissingDescriptorsAreRefused() throws Exception {
    Files.createFile(folder.resolve("a"));
    FileInputStream closed = new FileInputStream(new File(path("a")));
    FileDescriptor fd = closed.getFD();
    closed.close();
    assertThatThrownBy(() -> POSIX.getFstat(fd)).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> POSIX.posix_fadvise(null, 0, 0, 0)).isInstanceOf(NullPointerException.class);
    assertThatThrownBy(() -> POSIX.mmap(fd, 1, true, 10)).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> POSIX.chmod(null, 0700)).isInstanceOf(NullPointerException.class);
  }

  @Test
  void changesPermissionsAlsoOfNamesBeyondAscii() throws Exception {
    for (String name : new String[] {"plain", "with blank", "\u00e4\ud83d\ude00"}) {
      File file = new File(path(name));
      assertThat(file.createNewFile()).isTrue();
      POSIX.chmod(file.getPath(), 0741);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath()))).isEqualTo("rwxr----x");
    }
    assertThatThrownBy(() -> POSIX.chmod(path("none"), 0700)).satisfies(e -> assertThat(errno(e))
        .isEqualTo(Errno.ENOENT));
  }

  private interface Action {
    void run() throws Exception;
  }

  /** The commands that are run meanwhile. */
  private static List<String> commandsOf(Action action) throws Exception {
    List<String> commands = new CopyOnWriteArrayList<>();
    System.setSecurityManager(new SecurityManager() {
      @Override
      public void checkExec(String command) {
        commands.add(command);
      }

      @Override
      public void checkPermission(Permission permission) {
        // All else is allowed.
      }
    });
    try {
      action.run();
    } finally {
      System.setSecurityManager(null);
    }
    return commands;
  }

  @Test
  void permissionsAreChangedWithoutAProcess() throws Exception {
    RawLocalFileSystem files = new RawLocalFileSystem();
    files.initialize(URI.create("file:///"), new Configuration());
    FsPermission permission = new FsPermission((short) 0741);
    String name = path("file");
    assertThat(Shell.isSetsidAvailable).isTrue(); // it runs a command once
    assertThat(commandsOf(() -> {
      files.create(new org.apache.hadoop.fs.Path(name), permission, true, 4096, (short) 1, 4096, null).close();
      files.setPermission(new org.apache.hadoop.fs.Path(name), permission);
      files.mkdirs(new org.apache.hadoop.fs.Path(path("folder")), permission);
      FileUtil.setPermission(new File(path("folder")), permission);
      SecureIOUtils.createForWrite(new File(path("other")), 0741).close();
    })).isEmpty();
    for (String each : new String[] {"file", "folder", "other"}) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve(each))))
          .isEqualTo("rwxr----x");
    }
    // What 2.8.1 has no native method for: reading them.
    assertThat(commandsOf(() -> files.getFileStatus(new org.apache.hadoop.fs.Path(name)).getPermission()))
        .hasSize(1).allMatch(command -> command.endsWith("ls"));
  }

  @Test
  @SuppressWarnings("deprecation")
  void renamesAndLinks() throws Exception {
    File a = new File(path("a"));
    assertThat(a.createNewFile()).isTrue();
    NativeIO.renameTo(a, new File(path("b")));
    assertThat(a).doesNotExist();
    NativeIO.link(new File(path("b")), a);
    assertThat(a).exists();
    assertThatThrownBy(() -> NativeIO.renameTo(new File(path("none")), a))
        .satisfies(e -> assertThat(errno(e)).isEqualTo(Errno.ENOENT));
    assertThatThrownBy(() -> NativeIO.renameTo(a, new File(path("b/c"))))
        .satisfies(e -> assertThat(errno(e)).isEqualTo(Errno.ENOTDIR));
  }

  @Test
  void locksMemory() throws Exception {
    ByteBuffer buffer = ByteBuffer.allocateDirect(4096);
    POSIX.mlock(buffer, 4096);
    assertThatThrownBy(() -> POSIX.mlock(buffer, 4097)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> POSIX.mlock(ByteBuffer.allocate(10), 10)).isInstanceOf(IOException.class);
  }

  @Test
  void namesOfUsersAndGroups() throws Exception {
    assertThat(POSIX.getUserName(0)).isEqualTo("root");
    assertThat(POSIX.getGroupName(0)).isEqualTo("root");
    assertThatThrownBy(() -> POSIX.getUserName(54321987)).isInstanceOf(IOException.class)
        .hasMessage("uid not found: 54321987");
    assertThatThrownBy(() -> POSIX.getGroupName(54321987)).isInstanceOf(IOException.class)
        .hasMessage("gid not found: 54321987");
  }

  @Test
  void sharedFilesHaveNoNameAndTheirWholeLength() throws Exception {
    Files.createFile(folder.resolve("pre_left"));
    Files.createFile(folder.resolve("other"));
    Files.createSymbolicLink(folder.resolve("pre_link"), folder.resolve("other"));
    SharedFileDescriptorFactory factory =
        SharedFileDescriptorFactory.create("pre_", new String[] {path("none"), folder.toString()});
    assertThat(factory.getPath()).isEqualTo(folder.toString());
    try (FileInputStream in = factory.createDescriptor("x", 8192)) {
      assertThat(in.getChannel().size()).isEqualTo(8192);
      new FileOutputStream(in.getFD()).write(7);
      in.getChannel().position(0);
      assertThat(in.read()).isEqualTo(7);
    }
    assertThat(folder.toFile().list()).containsExactly("other");
    assertThatThrownBy(() -> SharedFileDescriptorFactory.create("p", new String[] {path("none")}))
        .isInstanceOf(IOException.class).hasMessageContaining("No such file");
    assertThatThrownBy(() -> factory.createDescriptor("x", -1)).isInstanceOf(IOException.class);
  }
}
