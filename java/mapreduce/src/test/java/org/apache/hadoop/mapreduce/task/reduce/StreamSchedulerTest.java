package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.ReduceRun;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which attempt of a map a merge goes on with, in whatever order attempts are fetched and become obsolete. */
class StreamSchedulerTest {
  private static final int KIB = 1 << 10;
  private static final int LENGTH = 200 * KIB;
  private static final TaskAttemptID FIRST = TaskAttemptID.forName("attempt_1000_0001_m_000000_0");
  private static final TaskAttemptID SECOND = TaskAttemptID.forName("attempt_1000_0001_m_000000_1");

  @TempDir
  Path scratch;

  private final MapHost host = new MapHost("localhost:1", "http://localhost:1/mapOutput?map=");
  private final MergeBudget budget = new MergeBudget(1024 * KIB, 2, 16 * KIB);
  private ReduceRun run;
  private JobConf job;
  private StreamScheduler<Text, BytesWritable> scheduler;
  private StreamMergeManager<Text, BytesWritable> merger;

  @BeforeEach
  void start() throws IOException {
    job = new JobConf();
    job.setNumMapTasks(1);
    job.setMapOutputKeyClass(Text.class);
    job.setMapOutputValueClass(BytesWritable.class);
    job.setLong(MRJobConfig.REDUCE_MEMORY_TOTAL_BYTES, 8 << 20);
    run = new ReduceRun(job, scratch, "attempt_1000_0001_r_000000_0",
        JobTokenSecretManager.createSecretKey(new byte[16]), null);
    StreamRefills refills = new StreamRefills(job, null, Reporter.NULL, null);
    ExceptionReporter failures = cause -> {
      throw new AssertionError(cause);
    };
    scheduler = new StreamScheduler<>(run.context(), job, failures);
    merger = new StreamMergeManager<>(run.context(), budget, run.context().getMapOutputFile(), failures,
        number -> null, refills);
    scheduler.streams(merger);
    budget.hold(900 * KIB); // little is fetched at first
  }

  @AfterEach
  void stop() throws InterruptedException {
    scheduler.close();
    merger.end();
    run.close();
  }

  /** An attempt's output of which the first bytes were fetched. */
  private StreamedMapOutput<Text, BytesWritable> fetched(TaskAttemptID map) throws IOException {
    StreamedMapOutput<Text, BytesWritable> output = new StreamedMapOutput<>(merger, map, LENGTH, budget,
        budget.open(LENGTH + MapStream.CHECKSUM));
    output.shuffle(host, new ByteArrayInputStream(new byte[LENGTH + MapStream.CHECKSUM]), LENGTH + MapStream.CHECKSUM,
        LENGTH, new ShuffleClientMetrics(FIRST, job), Reporter.NULL);
    return output;
  }

  private void succeeded(TaskAttemptID map, StreamedMapOutput<Text, BytesWritable> output) throws IOException {
    scheduler.copySucceeded(map, host, LENGTH, 1, 2, output);
  }

  @Test
  void anAttemptThatBecomesObsoleteIsGivenUpWhetherItWasFetchedBeforeOrAfter() throws Exception {
    succeeded(FIRST, fetched(FIRST));
    assertThat(scheduler.waitUntilDone(1)).isTrue();
    scheduler.obsoleteMapOutput(FIRST);
    assertThat(scheduler.waitUntilDone(1)).as("done without a map").isFalse();
    assertThat(scheduler.begin()).isFalse();
    succeeded(FIRST, fetched(FIRST)); // it was on its way
    assertThat(scheduler.waitUntilDone(1)).isFalse();
    assertThat(budget.used()).isEqualTo(900 * KIB);
    succeeded(SECOND, fetched(SECOND));
    assertThat(scheduler.begin()).isTrue();
    assertThat(run.count(TaskCounter.SHUFFLED_MAPS)).isOne();
  }

  @Test
  void ofTwoAttemptsThatAreFetchedAtOnceOneStays() throws Exception {
    StreamedMapOutput<Text, BytesWritable> first = fetched(FIRST);
    StreamedMapOutput<Text, BytesWritable> second = fetched(SECOND);
    scheduler.obsoleteMapOutput(FIRST);
    succeeded(SECOND, second);
    long used = budget.used();
    succeeded(FIRST, first);
    assertThat(scheduler.begin()).isTrue();
    assertThat(budget.used()).as("memory of the attempt that was not needed").isLessThan(used);
    assertThat(merger.drop(FIRST)).isFalse();
    assertThat(merger.drop(SECOND)).isTrue();
  }

  /** reduce() has seen records of it. */
  @Test
  void onceTheMergeHasBegunAnAttemptStays() throws Exception {
    succeeded(FIRST, fetched(FIRST));
    assertThat(scheduler.begin()).isTrue();
    scheduler.obsoleteMapOutput(FIRST);
    assertThat(scheduler.waitUntilDone(1)).isTrue();
    assertThat(merger.drop(FIRST)).isTrue();
  }
}
