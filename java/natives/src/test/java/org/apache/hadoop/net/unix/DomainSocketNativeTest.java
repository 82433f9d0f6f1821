package org.apache.hadoop.net.unix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.BindException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** UNIX domain sockets. */
@Timeout(60)
class DomainSocketNativeTest {
  @TempDir
  Path folder;

  @BeforeAll
  static void available() {
    assertThat(DomainSocket.getLoadingFailureReason()).isNull();
    assertThat(DomainSocketWatcher.getLoadingFailureReason()).isNull();
    DomainSocket.disableBindPathValidation();
  }

  private static void start(FutureTask<?> task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
  }

  @Test
  void bytesArriveWholeHoweverManyThereAre() throws Exception {
    DomainSocket[] pair = DomainSocket.socketpair();
    for (int size : new int[] {1, 8191, 8192, 8193, 1000000}) {
      byte[] sent = new byte[size + 5];
      new Random(size).nextBytes(sent);
      FutureTask<Void> writer = new FutureTask<>(() -> {
        pair[0].getOutputStream().write(sent, 5, size);
        return null;
      });
      start(writer);
      byte[] got = new byte[size + 7];
      for (int at = 0; at < size;) {
        int step = at % 2 == 0 ? pair[1].getInputStream().read(got, 7 + at, size - at)
            : pair[1].getChannel().read(ByteBuffer.wrap(got, 7 + at, size - at));
        assertThat(step).isPositive();
        at += step;
      }
      writer.get();
      assertThat(ByteBuffer.wrap(got, 7, size)).isEqualTo(ByteBuffer.wrap(sent, 5, size));
    }
    pair[0].getOutputStream().write(200);
    assertThat(pair[1].getInputStream().available()).isEqualTo(1);
    Method one = DomainSocket.class.getDeclaredMethod("write0", int.class, int.class); // which 2.8.1 never calls
    one.setAccessible(true);
    one.invoke(null, pair[0].fd, 201);
    ByteBuffer direct = ByteBuffer.allocateDirect(10);
    direct.position(3);
    assertThat(pair[1].getChannel().read(direct)).isEqualTo(2);
    assertThat(direct.get(3)).isEqualTo((byte) 200);
    assertThat(direct.get(4)).isEqualTo((byte) 201);
    pair[0].close();
    assertThat(pair[1].getInputStream().read()).isEqualTo(-1);
    assertThat(pair[1].getInputStream().read(new byte[3], 0, 3)).isEqualTo(-1);
    assertThatThrownBy(() -> pair[1].getOutputStream().write(1)).isInstanceOf(SocketException.class);
    pair[1].close();
  }

  @Test
  void whatIsOutOfBoundsIsRefused() throws Exception {
    DomainSocket[] pair = DomainSocket.socketpair();
    byte[] bytes = new byte[10];
    assertThatThrownBy(() -> pair[0].getOutputStream().write(bytes, 5, 6))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> pair[0].getOutputStream().write(bytes, -1, 6))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> pair[0].getInputStream().read(bytes, 1, Integer.MAX_VALUE))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> pair[0].getInputStream().read(null, 0, 1)).isInstanceOf(NullPointerException.class);
    assertThat(pair[0].getInputStream().read(bytes, 10, 0)).isZero();
    for (DomainSocket socket : pair) {
      socket.close();
    }
  }

  @Test
  void attributesAreKept() throws Exception {
    DomainSocket[] pair = DomainSocket.socketpair();
    int[] attributes = {DomainSocket.SEND_BUFFER_SIZE, DomainSocket.RECEIVE_BUFFER_SIZE, DomainSocket.SEND_TIMEOUT,
        DomainSocket.RECEIVE_TIMEOUT};
    for (int attribute : attributes) {
      pair[0].setAttribute(attribute, 8000);
      assertThat(pair[0].getAttribute(attribute)).isEqualTo(8000);
    }
    assertThatThrownBy(() -> pair[0].getAttribute(77)).isInstanceOf(IllegalArgumentException.class);
    pair[1].setAttribute(DomainSocket.RECEIVE_TIMEOUT, 1);
    assertThatThrownBy(() -> pair[1].getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
    for (DomainSocket socket : pair) {
      socket.close();
    }
  }

  @Test
  void clientsConnectAndTheServersCloseWakesIt() throws Exception {
    String path = folder.resolve("sock").toString();
    DomainSocket server = DomainSocket.bindAndListen(path);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("sock"))))
        .isEqualTo("rw-rw-rw-");
    DomainSocket client = DomainSocket.connect(path);
    DomainSocket accepted = server.accept();
    assertThat(client.getAttribute(DomainSocket.RECEIVE_TIMEOUT)).isEqualTo(120000);
    assertThat(accepted.getAttribute(DomainSocket.RECEIVE_TIMEOUT)).isZero();
    client.getOutputStream().write(9);
    assertThat(accepted.getInputStream().read()).isEqualTo(9);
    accepted.close();
    client.close();
    CountDownLatch begun = new CountDownLatch(1);
    FutureTask<Throwable> waiting = new FutureTask<>(() -> {
      begun.countDown();
      try {
        server.accept();
        return null;
      } catch (IOException e) {
        return e;
      }
    });
    start(waiting);
    begun.await();
    server.close();
    assertThat(waiting.get()).isNotNull();
    DomainSocket.bindAndListen(path).close(); // what the last one left is replaced
    assertThatThrownBy(() -> DomainSocket.connect(path)).isInstanceOf(ConnectException.class)
        .hasMessageContaining(path);
    assertThatThrownBy(() -> DomainSocket.connect(path + "2")).isInstanceOf(IOException.class)
        .hasMessageContaining("sock2");
    StringBuilder rather = new StringBuilder(path);
    while (rather.length() < 200) {
      rather.append("/long");
    }
    assertThatThrownBy(() -> DomainSocket.bindAndListen(rather.toString())).isInstanceOf(IOException.class)
        .hasMessageContaining("107");
    Files.write(folder.resolve("file"), new byte[1]);
    for (String name : new String[] {"file", "none/sock"}) {
      assertThatThrownBy(() -> DomainSocket.bindAndListen(folder.resolve(name).toString()))
          .isInstanceOf(BindException.class);
    }
    assertThat(folder.resolve("file")).exists();
  }

  @Test
  void descriptorsTravel() throws Exception {
    Files.write(folder.resolve("a"), new byte[] {11});
    Files.write(folder.resolve("b"), new byte[] {12});
    DomainSocket[] pair = DomainSocket.socketpair();
    try (FileInputStream a = new FileInputStream(folder.resolve("a").toFile());
        FileInputStream b = new FileInputStream(folder.resolve("b").toFile())) {
      pair[0].sendFileDescriptors(new FileDescriptor[] {a.getFD(), b.getFD()}, new byte[] {0, 42}, 1, 1);
    }
    FileInputStream[] streams = new FileInputStream[2];
    byte[] with = new byte[3];
    assertThat(pair[1].recvFileInputStreams(streams, with, 1, 2)).isEqualTo(1);
    assertThat(with).containsExactly(0, 42, 0);
    assertThat(streams[0].read()).isEqualTo(11);
    assertThat(streams[1].read()).isEqualTo(12);
    pair[0].sendFileDescriptors(new FileDescriptor[] {streams[0].getFD(), streams[1].getFD()}, new byte[] {1}, 0, 1);
    FileInputStream[] one = new FileInputStream[1];
    assertThat(pair[1].recvFileInputStreams(one, with, 0, 1)).isEqualTo(1);
    assertThat(one[0]).isNotNull();
    pair[0].getOutputStream().write(1);
    assertThat(pair[1].recvFileInputStreams(one, with, 0, 1)).isEqualTo(1);
    assertThat(one[0]).isNull();
    assertThatThrownBy(() -> pair[0].sendFileDescriptors(new FileDescriptor[17], new byte[1], 0, 1))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> pair[0].sendFileDescriptors(new FileDescriptor[1], new byte[1], 0, 1))
        .isInstanceOf(NullPointerException.class);
    assertThatThrownBy(() -> pair[0].sendFileDescriptors(new FileDescriptor[] {streams[0].getFD()}, new byte[1], 1, 1))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    for (FileInputStream stream : streams) {
      stream.close();
    }
    pair[0].close();
    pair[1].close();
  }

  @Test
  void nobodyMayPutAnotherSocketThere() throws Exception {
    File safe = new File("/howdah-test-" + System.nanoTime());
    assertThat(safe.mkdir()).isTrue();
    try {
      File inner = new File(safe, "inner");
      assertThat(inner.mkdir()).isTrue();
      set(safe, "rwxr-xr-x");
      set(inner, "rwx------");
      DomainSocket.validateSocketPathSecurity0(inner + "/sock", 0);
      set(inner, "rwxrwxrwx");
      assertThatThrownBy(() -> DomainSocket.validateSocketPathSecurity0(inner + "/sock", 0))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(inner.getPath()).hasMessageContaining("everybody may write")
              .hasMessageContaining("chmod o-w");
      DomainSocket.validateSocketPathSecurity0(inner + "/sock", 3);
      set(inner, "rwx------");
      set(safe, "rwxrwxrwx");
      assertThatThrownBy(() -> DomainSocket.validateSocketPathSecurity0(inner + "/sock", 0))
          .isInstanceOf(IOException.class);
      assertThatThrownBy(() -> DomainSocket.validateSocketPathSecurity0(safe + "/none/sock", 2))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("/none");
      assertThatThrownBy(() -> DomainSocket.validateSocketPathSecurity0("a/sock", 0)).isInstanceOf(IOException.class);
      assertThatThrownBy(() -> DomainSocket.validateSocketPathSecurity0(safe + "/", 0)).isInstanceOf(IOException.class);
    } finally {
      new File(safe, "inner").delete();
      safe.delete();
    }
  }

  private static void set(File file, String permissions) throws IOException {
    Files.setPosixFilePermissions(file.toPath(), PosixFilePermissions.fromString(permissions));
  }

  @Test
  void aWatcherSeesWhatHappensOnManySockets() throws Exception {
    int count = 50; // more than a set has room for at first
    DomainSocketWatcher watcher = new DomainSocketWatcher(1000, "test");
    DomainSocket[][] pairs = new DomainSocket[count][];
    CountDownLatch closed = new CountDownLatch(count);
    for (int i = 0; i < count; i++) {
      pairs[i] = DomainSocket.socketpair();
      watcher.add(pairs[i][1], socket -> {
        closed.countDown();
        return true;
      });
    }
    for (int i = 0; i < count; i++) {
      if (i % 2 == 0) {
        pairs[i][0].close();
      } else {
        pairs[i][0].getOutputStream().write(1);
      }
    }
    closed.await();
    watcher.close();
    for (DomainSocket[] pair : pairs) {
      pair[0].close();
    }
  }
}
