package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URL;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whatever a stream waits for, the wait ends. */
@Timeout(60)
class StreamRefillsTest {
  private static final int KIB = 1 << 10;
  private static final int PACKET = 16 * KIB;
  private static final int LENGTH = 100 * KIB;

  private final List<TaskAttemptID> lost = new CopyOnWriteArrayList<>();
  private final MergeBudget budget = new MergeBudget(1024 * KIB, 2, PACKET);

  /** A host that can't be reached. */
  private final class Unreachable implements StreamRefills.Reducer {
    @Override
    public RdmaShuffleConnection connection(URL url) {
      throw new IllegalStateException(url.getHost() + " can't be reached");
    }

    @Override
    public void lost(List<TaskAttemptID> maps) {
      lost.addAll(maps);
    }
  }

  private StreamRefills refills() {
    JobConf job = new JobConf();
    job.setInt(MRJobConfig.SHUFFLE_FETCH_RETRY_TIMEOUT_MS, 50);
    job.setInt(MRJobConfig.SHUFFLE_FETCH_RETRY_INTERVAL_MS, 10);
    return new StreamRefills(job, new Unreachable(), Reporter.NULL, null);
  }

  /** A stream whose first window is here. */
  private MapStream stream(int map) {
    TaskAttemptID attempt = TaskAttemptID.forName("attempt_1000_0001_m_00000" + map + "_0");
    MapStream stream = new MapStream(attempt, "http://localhost:1/mapOutput?map=", LENGTH, budget,
        budget.open(LENGTH));
    assertThat(stream.asked()).isEqualTo(PACKET);
    stream.add(0, new byte[PACKET]);
    return stream;
  }

  @Test
  void aHostThatIsLostEndsTheWaitForAnyOfItsStreams() throws IOException {
    budget.hold(900 * KIB); // little is fetched at first
    MapStream first = stream(0);
    MapStream second = stream(1);
    try (StreamRefills refills = refills()) {
      refills.start(Arrays.asList(first, second), 1);
      first.begin(refills);
      second.begin(refills);
      first.take(); // asks for the next window, as the second one does, after it
      second.take();
      assertThatThrownBy(second::take).isInstanceOf(IOException.class)
          .hasStackTraceContaining("This reduce attempt fails").hasStackTraceContaining("can't be reached");
      assertThatThrownBy(first::take).isInstanceOf(IOException.class);
      assertThat(lost).contains(first.map(), second.map());
    }
  }

  @Test
  void aStreamThatIsClosedEndsTheWaitForIt() throws Exception {
    budget.hold(900 * KIB);
    MapStream stream = stream(0);
    try (StreamRefills refills = refills()) {
      stream.begin(refills);
      refills.start(Arrays.asList(stream), 0); // nobody serves it
      stream.take();
      Thread closing = new Thread(stream::close);
      closing.start();
      assertThatThrownBy(stream::take).isInstanceOf(IOException.class).hasMessageContaining("ended at " + PACKET);
      closing.join();
      assertThat(budget.used()).isEqualTo(900 * KIB);
    }
  }
}
