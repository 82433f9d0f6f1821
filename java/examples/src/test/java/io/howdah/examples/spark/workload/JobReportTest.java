package io.howdah.examples.spark.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Collections;
import org.junit.jupiter.api.Test;

/** What is said of a job that was run several times. */
class JobReportTest {
  private final JobReport report = new JobReport();

  @Test
  void figuresAreOfOneRunOnAverage() {
    report.ran(new Outcome().exact("lines", 3));
    report.ran(new Outcome().exact("lines", 3));
    report.tasks(Collections.singletonMap("wait", 5.0));
    report.times(100, 3);
    assertThat(report.toString().split("\\R")).containsExactly("value begin 100.000000", "value runs 2.000000",
        "value seconds 1.500000", "value spent 3.000000", "value wait 2.500000", "result lines=3");
  }

  @Test
  void eachRunHasToFindTheSame() {
    report.ran(new Outcome().exact("lines", 3).about("mean", 1.5));
    report.ran(new Outcome().exact("lines", 3).about("mean", 1.5000000000001));
    assertThatThrownBy(() -> report.ran(new Outcome().exact("lines", 4).about("mean", 1.5)))
        .hasMessageContaining("run 3").hasMessageContaining("lines=4").hasMessageContaining("lines=3");
  }
}
