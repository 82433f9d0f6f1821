package io.howdah.examples.spark.workload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import org.junit.jupiter.api.Test;

/** What is said of a job that was run several times. */
class JobReportTest {
  private final JobReport report = new JobReport();

  @Test
  void figuresAreOfOneRunOnAverage() {
    report.ran(new Outcome().exact("lines", 3));
    report.ran(new Outcome().exact("lines", 4)); // the reader will not like it
    report.tasks(Collections.singletonMap("wait", 5.0));
    report.times(100, 3);
    assertThat(report.toString().split("\\R")).containsExactly("value begin 100.000000", "value runs 2.000000",
        "value seconds 1.500000", "value spent 3.000000", "value wait 2.500000", "result lines=3", "result lines=4");
  }
}
