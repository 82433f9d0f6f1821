package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import javax.crypto.SecretKey;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.RdmaShuffleHandler;
import org.apache.hadoop.mapred.ReduceRun;
import org.apache.hadoop.mapred.ReduceRun.Item;
import org.apache.hadoop.mapred.TaskCompletionEvent.Status;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.security.token.Token;

/**
 * One end of a small shuffle that is forced over the engine; in this package because a reducer's parts are there.
 * <pre>
 * ShufflePair server TRANSPORT HOST FILE   a NodeManager's shuffle with the output of some maps, its port and the job's
 *                                          token in FILE, until its standard input ends
 * ShufflePair client TRANSPORT HOST FILE   a reducer, which merges as stock does and then while it fetches
 * </pre>
 * Exit status 0 only if every record was right and every byte went over the transport.
 */
public final class ShufflePair {
  private static final int[] SIZES = {0, 1, 3000, 70_000, 400_000, 400_000, 400_000};
  private static final int HEAP = 2 << 20;
  private static final String[] PATIENT = {"mapreduce.reduce.shuffle.connect.timeout",
      "mapreduce.reduce.shuffle.read.timeout", "mapreduce.reduce.shuffle.fetch.retry.timeout-ms"};
  private static final int PATIENCE = 300_000;

  private ShufflePair() {
  }

  public static void main(String[] args) throws Exception {
    Path file = Paths.get(args[3]);
    if (args[0].equals("server")) {
      serve(args[1], file);
      System.exit(0);
    }
    String[] words = new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split(" ");
    Token<JobTokenIdentifier> token = new Token<>();
    token.decodeFromUrlString(words[1]);
    SecretKey secret = JobTokenSecretManager.createSecretKey(token.getPassword());
    boolean good = true;
    for (boolean merge : new boolean[] {false, true}) {
      good &= reduce(args[1], args[2], Integer.parseInt(words[0]), secret, file.resolveSibling("reducer"), merge);
    }
    System.exit(good ? 0 : 1);
  }

  private static JobConf job() {
    JobConf job = new JobConf();
    job.setMapOutputKeyClass(Text.class);
    job.setMapOutputValueClass(BytesWritable.class);
    job.setNumMapTasks(SIZES.length);
    return job;
  }

  private static List<Item> records(int map) {
    Random random = new Random(map);
    List<Item> records = new ArrayList<>();
    for (int size = 0; size < SIZES[map];) {
      byte[] value = new byte[random.nextInt(3000)];
      random.nextBytes(value);
      records.add(new Item(String.format("%08x-%d-%d", random.nextInt(), map, records.size()), value));
      size += value.length + 20;
    }
    return records;
  }

  // The server.

  private static void serve(String transport, Path file) throws IOException {
    Token<JobTokenIdentifier> token = ShuffleNode.token();
    Path local = file.resolveSibling("local");
    for (int map = 0; map < SIZES.length; map++) {
      long[] raw = new long[1];
      byte[] part = ReduceRun.part(job(), null, records(map), raw, 0);
      ShuffleNode.write(local, ShuffleNode.map(map), raw, part);
    }
    ShuffleNode node = new ShuffleNode(new RdmaShuffleHandler(), local, token, "mapred.rdma.enabled=true",
        "hadoop.rdma.transport=" + transport);
    Path written = file.resolveSibling(file.getFileName() + ".new");
    Files.write(written, (node.port() + " " + token.encodeToUrlString()).getBytes(StandardCharsets.UTF_8));
    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
    while (System.in.read() >= 0) {
      // nothing is ever sent
    }
    node.close();
  }

  // The client.

  private static boolean reduce(String transport, String host, int port, SecretKey secret, Path scratch,
      boolean merge) throws Exception {
    JobConf job = job();
    job.set("mapred.rdma.enabled", "required");
    job.set("hadoop.rdma.transport", transport);
    job.setBoolean("mapred.rdma.shuffle.merge.enabled", merge);
    job.set("mapred.rdma.shuffle.packet.size", "32k");
    job.setLong("mapreduce.reduce.memory.totalbytes", HEAP);
    for (String name : PATIENT) { // an emulated processor: what is slow is not dead
      job.setInt(name, PATIENCE);
    }
    List<Item> expected = new ArrayList<>();
    ReduceRun run = new ReduceRun(job, scratch, "attempt_1000_0001_r_000000_0", secret, null);
    for (int map = 0; map < SIZES.length; map++) {
      expected.addAll(records(map));
      run.event(ShuffleNode.map(map), Status.SUCCEEDED, host, port);
    }
    Collections.sort(expected);
    long start = System.nanoTime();
    RawKeyValueIterator records = run.run();
    boolean good = true;
    for (Item item : expected) {
      good &= records.next() && ReduceRun.isAt(records, item);
    }
    good &= !records.next();
    records.close();
    run.close();
    long bytes = run.count("BYTES_" + transport.toUpperCase(Locale.ROOT));
    System.out.printf("%d records, merged %s: %s; %d bytes over %s, %d over TCP, %d streams, %.0f ms%n",
        expected.size(), merge ? "while they were fetched" : "as stock does", good ? "right" : "WRONG", bytes,
        transport, run.count("BYTES_TCP"), run.count("STREAMED_MAPS"), (System.nanoTime() - start) / 1e6);
    return good && bytes > 0 && run.count("BYTES_TCP") == 0 && run.count("STREAMED_MAPS") > 0 == merge;
  }
}
