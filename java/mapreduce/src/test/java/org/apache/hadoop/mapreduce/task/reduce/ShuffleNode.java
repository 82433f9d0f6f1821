package org.apache.hadoop.mapreduce.task.reduce;

import java.io.Closeable;
import java.io.IOException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.Stream;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapred.SpillRecord;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;

/** A ShuffleHandler as it runs in a NodeManager, with a job and map outputs of random bytes. */
final class ShuffleNode implements Closeable {
  static final int REDUCERS = 3;
  private static final String USER = System.getProperty("user.name");
  private static final ApplicationId APPLICATION = ApplicationId.newInstance(1000L, 1);

  final ShuffleHandler handler;
  private final Path local;
  private final Configuration conf = new Configuration();
  private final Token<JobTokenIdentifier> token;
  private final SecretKey secret;

  ShuffleNode(ShuffleHandler handler, Path local, String... settings) throws IOException {
    this(handler, local, token(), settings);
  }

  /** The job's. */
  static Token<JobTokenIdentifier> token() {
    return new Token<>(new JobTokenIdentifier(new Text("job_1000_0001")), new JobTokenSecretManager());
  }

  /** One in place of another, which was closed: on its port, with its job and its outputs. */
  ShuffleNode(ShuffleHandler handler, ShuffleNode before, int port, String... settings) throws IOException {
    this(handler, before.local, before.token, Stream.concat(
        Stream.of(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY + "=" + port), Stream.of(settings)).toArray(String[]::new));
  }

  ShuffleNode(ShuffleHandler handler, Path local, Token<JobTokenIdentifier> token, String... settings)
      throws IOException {
    this.handler = handler;
    this.local = local;
    conf.set(YarnConfiguration.NM_LOCAL_DIRS, local.toString());
    conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, 0);
    for (String setting : settings) {
      conf.set(setting.split("=")[0], setting.split("=")[1]);
    }
    this.token = token;
    secret = JobTokenSecretManager.createSecretKey(token.getPassword());
    handler.init(conf);
    handler.start();
    ByteBuffer data = ShuffleHandler.serializeServiceData(token);
    handler.initializeApplication(new ApplicationInitializationContext(USER, APPLICATION, data));
  }

  SecretKey secret() {
    return secret;
  }

  static String map(int number) {
    return String.format("attempt_1000_0001_m_%06d_0", number);
  }

  /** Writes the output of a map, whose part for each reducer has so many bytes. */
  Path write(int map, int... sizes) throws IOException {
    Random random = new Random(map);
    byte[][] parts = new byte[sizes.length][];
    long[] raw = new long[sizes.length];
    for (int i = 0; i < sizes.length; i++) {
      parts[i] = new byte[sizes[i]];
      random.nextBytes(parts[i]);
      raw[i] = sizes[i] + 7L;
    }
    return write(map(map), raw, parts);
  }

  /** Writes the output of a map's attempt. @param raw bytes of each part before it was compressed */
  Path write(String attempt, long[] raw, byte[]... parts) throws IOException {
    return write(local, attempt, raw, parts);
  }

  /** Writes the output of a map's attempt into a NodeManager's local directory. */
  static Path write(Path local, String attempt, long[] raw, byte[]... parts) throws IOException {
    Path folder = local.resolve("usercache/" + USER + "/appcache/" + APPLICATION + "/output/" + attempt);
    Files.createDirectories(folder);
    SpillRecord index = new SpillRecord(parts.length);
    long at = 0;
    try (java.io.OutputStream out = Files.newOutputStream(folder.resolve("file.out"))) {
      for (int i = 0; i < parts.length; i++) {
        out.write(parts[i]);
        index.putIndex(new IndexRecord(at, raw[i], parts[i].length), i);
        at += parts[i].length;
      }
    }
    index.writeToFile(new org.apache.hadoop.fs.Path(folder.resolve("file.out.index").toUri()), new JobConf());
    return folder.resolve("file.out");
  }

  int port() throws IOException {
    return ShuffleHandler.deserializeMetaData(handler.getMetaData());
  }

  URL url(int reduce, String... maps) throws IOException {
    return new URL("http", "localhost", port(), "/mapOutput?job=job_1000_0001&reduce=" + reduce + "&map="
        + String.join(",", maps));
  }

  @Override
  public void close() {
    handler.stop();
  }
}
