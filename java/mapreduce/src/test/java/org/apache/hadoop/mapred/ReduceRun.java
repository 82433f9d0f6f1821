package org.apache.hadoop.mapred;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.crypto.SecretKey;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.task.reduce.RdmaShuffle;
import org.apache.hadoop.util.Progress;

/** A reduce task up to where records reach reduce(), with an ApplicationMaster that says what a test wants. */
public final class ReduceRun {
  /** A record: a key with its value. */
  public static final class Item implements Comparable<Item> {
    private final Text key;
    private final byte[] value;

    /** A record. */
    public Item(String key, byte[] value) {
      this.key = new Text(key);
      this.value = value;
    }

    /** Its key. */
    public String key() {
      return key.toString();
    }

    /** Whether a map wrote it: keys end with the map's number and the record's. */
    public boolean isOf(int map) {
      return key.toString().split("-")[1].equals(String.valueOf(map));
    }

    @Override
    public int compareTo(Item other) {
      return key.compareTo(other.key);
    }
  }

  /** Attempts whose output could not be fetched, as the ApplicationMaster heard it. */
  public final Set<TaskAttemptID> lost = ConcurrentHashMap.newKeySet();
  private final List<TaskCompletionEvent> events = new CopyOnWriteArrayList<>();
  private final ReduceTask task;
  private final ShuffleConsumerPlugin.Context<Text, BytesWritable> context;
  private final RdmaShuffle<Text, BytesWritable> shuffle = new RdmaShuffle<>();

  /** A reducer's attempt. @param local its local directory */
  public ReduceRun(JobConf job, Path local, String attempt, SecretKey secret, CompressionCodec codec)
      throws IOException {
    JobConf conf = new JobConf(job);
    conf.set("mapreduce.cluster.local.dir", local.toString());
    TaskAttemptID id = TaskAttemptID.forName(attempt);
    task = new ReduceTask("", id, id.getTaskID().getId(), conf.getNumMapTasks(), 1);
    task.setConf(conf);
    task.setShuffleSecret(secret);
    Task.TaskReporter reporter = task.new TaskReporter(new Progress(), null);
    Progress progress = new Progress();
    context = new ShuffleConsumerPlugin.Context<>(id, conf, FileSystem.getLocal(conf), master(),
        new LocalDirAllocator("mapreduce.cluster.local.dir"), reporter, codec, null, null,
        reporter.getCounter(TaskCounter.SPILLED_RECORDS), reporter.getCounter(TaskCounter.REDUCE_INPUT_RECORDS),
        reporter.getCounter(TaskCounter.SHUFFLED_MAPS), reporter.getCounter(TaskCounter.REDUCE_SHUFFLE_BYTES),
        reporter.getCounter(TaskCounter.FAILED_SHUFFLE), reporter.getCounter(TaskCounter.MERGED_MAP_OUTPUTS),
        task.taskStatus, progress.addPhase("copy"), progress.addPhase("sort"), task, task.getMapOutputFile(), null);
    shuffle.init(context);
  }

  /** What the shuffle was given. */
  public ShuffleConsumerPlugin.Context<Text, BytesWritable> context() {
    return context;
  }

  private TaskUmbilicalProtocol master() {
    return (TaskUmbilicalProtocol) Proxy.newProxyInstance(ReduceRun.class.getClassLoader(),
        new Class<?>[] {TaskUmbilicalProtocol.class}, (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "getMapCompletionEvents":
              TaskCompletionEvent[] all = events.toArray(new TaskCompletionEvent[0]);
              int from = Math.min(all.length, (Integer) arguments[1]);
              return new MapTaskCompletionEventsUpdate(Arrays.copyOfRange(all, from, all.length), false);
            case "statusUpdate":
              lost.addAll(((TaskStatus) arguments[1]).getFetchFailedMaps());
              return true;
            default:
              throw new UnsupportedOperationException(method.getName());
          }
        });
  }

  /** Something became of a map's attempt on a node of this machine. */
  public void event(String attempt, TaskCompletionEvent.Status status, int port) {
    event(attempt, status, "localhost", port);
  }

  /** Something became of a map's attempt on a node. */
  public synchronized void event(String attempt, TaskCompletionEvent.Status status, String host, int port) {
    TaskAttemptID id = TaskAttemptID.forName(attempt);
    events.add(new TaskCompletionEvent(events.size(), id, id.getTaskID().getId(), true, status,
        "http://" + host + ":" + port));
  }

  /** Fetches until reduce() can begin. */
  public RawKeyValueIterator run() throws IOException, InterruptedException {
    return shuffle.run();
  }

  /** A counter of the group "Howdah Shuffle". */
  public long count(String name) {
    return task.getCounters().findCounter("Howdah Shuffle", name).getValue();
  }

  /** A counter of stock's. */
  public long count(TaskCounter counter) {
    return task.getCounters().findCounter(counter).getValue();
  }

  /** The task ends. */
  public void close() {
    shuffle.close();
  }

  // Records.

  /** A reducer's part of a map output. @param length receives its bytes before they were compressed */
  public static byte[] part(JobConf job, CompressionCodec codec, List<Item> items, long[] length, int at)
      throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    FSDataOutputStream out = new FSDataOutputStream(bytes, null);
    IFile.Writer<Text, BytesWritable> writer = new IFile.Writer<>(job, out, Text.class, BytesWritable.class, codec,
        null);
    Collections.sort(items);
    for (Item item : items) {
      writer.append(item.key, new BytesWritable(item.value));
    }
    writer.close();
    out.flush();
    length[at] = writer.getRawLength();
    return bytes.toByteArray();
  }

  /** Whether an iterator's record is this one. */
  public static boolean isAt(RawKeyValueIterator records, Item item) throws IOException {
    return isWritten(new Text(item.key), records.getKey())
        && isWritten(new BytesWritable(item.value), records.getValue());
  }

  /** The key of an iterator's record; of damaged bytes some other text. */
  public static String key(RawKeyValueIterator records) throws IOException {
    DataInputBuffer key = records.getKey();
    int length = WritableUtils.decodeVIntSize(key.getData()[key.getPosition()]);
    int rest = Math.max(0, key.getLength() - key.getPosition() - length);
    return new String(key.getData(), key.getLength() - rest, rest, StandardCharsets.UTF_8);
  }

  /** Compares bytes: damaged ones may ask for gigabytes when they are deserialized. */
  private static boolean isWritten(Writable expected, DataInputBuffer found) throws IOException {
    DataOutputBuffer written = new DataOutputBuffer();
    expected.write(written);
    int length = found.getLength() - found.getPosition();
    return ByteBuffer.wrap(written.getData(), 0, written.getLength())
        .equals(ByteBuffer.wrap(found.getData(), found.getPosition(), length));
  }
}
