package io.howdah.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ServicePlugin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who needs HDFS waits for a NameNode at any stage of its start, and says so. */
@Timeout(300)
class FileSystemWaitTest {
  private static final String FOLDER = "/history/done";

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

  /** A plug-in of the NameNode, which starts it when its port is open and before it serves. */
  public static final class Hold implements ServicePlugin {
    private static CountDownLatch reached = new CountDownLatch(1);
    private static CountDownLatch release = new CountDownLatch(1);

    @Override
    public void start(Object nameNode) {
      reached.countDown();
      try {
        release.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void stop() {}

    @Override
    public void close() {}
  }

  @Test
  void forAPortThatIsClosedThenForANameNodeThatIsNotDoneWithStarting(@TempDir Path temp) throws Exception {
    int port = freePort();
    Configuration conf = configuration(temp, port);
    Future<Boolean> waited = threads.submit(() -> new FileSystemWait(conf, FOLDER, said::add).await(-1));
    assertThat(said.take()).contains(FOLDER).contains("Connection refused");

    Future<MiniDFSCluster> cluster = threads.submit(() -> start(conf, port));
    Hold.reached.await();
    // What upstream's server ends by.
    try (FileSystem fs = FileSystem.newInstance(conf)) {
      assertThatThrownBy(() -> fs.exists(new org.apache.hadoop.fs.Path(FOLDER)))
          .isInstanceOf(RemoteException.class).hasMessageContaining("still not started");
    }
    Future<Boolean> another = threads.submit(() -> new FileSystemWait(conf, FOLDER, said::add).await(-1));
    assertThat(said.take()).contains("still not started");
    assertThat(waited.isDone() || another.isDone()).isFalse();
    assertThat(new FileSystemWait(conf, FOLDER, said::add).await(0)).isFalse();

    Hold.release.countDown();
    try (MiniDFSCluster running = cluster.get()) {
      assertThat(waited.get()).isTrue();
      assertThat(another.get()).isTrue();
      failsByWhatDoesNotPass(running, conf);
    } finally {
      threads.shutdownNow();
    }
  }

  private static void failsByWhatDoesNotPass(MiniDFSCluster cluster, Configuration conf) throws Exception {
    cluster.getFileSystem().mkdirs(new org.apache.hadoop.fs.Path("/closed"), new FsPermission((short) 0700));
    UserGroupInformation stranger = UserGroupInformation.createUserForTesting("stranger", new String[] {"strangers"});
    CompletableFuture<String> nothing = new CompletableFuture<>();
    assertThatThrownBy(() -> stranger.doAs((java.security.PrivilegedExceptionAction<Boolean>) () ->
        new FileSystemWait(conf, "/closed/x", nothing::complete).await(-1))).isInstanceOf(AccessControlException.class);
    assertThat(nothing.isDone()).isFalse();
  }

  private static Configuration configuration(Path temp, int port) {
    Configuration conf = new Configuration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, temp.toString());
    conf.set("fs.defaultFS", "hdfs://localhost:" + port);
    return conf;
  }

  private static MiniDFSCluster start(Configuration client, int port) throws IOException {
    Configuration conf = new Configuration(client);
    conf.set(DFSConfigKeys.DFS_NAMENODE_PLUGINS_KEY, Hold.class.getName());
    return new MiniDFSCluster.Builder(conf).numDataNodes(0).nameNodePort(port).build();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
