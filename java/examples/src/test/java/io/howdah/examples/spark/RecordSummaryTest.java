package io.howdah.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

class RecordSummaryTest {
  private static RecordSummary of(int... firstBytes) {
    List<Tuple2<RecordKey, byte[]>> records = new ArrayList<>();
    for (int first : firstBytes) {
      byte[] record = new byte[100];
      record[0] = (byte) first;
      records.add(new Tuple2<>(new RecordKey(record), record));
    }
    return RecordSummary.of(records.iterator());
  }

  @Test
  void bytesAreComparedUnsigned() {
    assertThat(of(1, 127, 128, 255).toString()).contains("records 4 inOrder true");
    assertThat(of(128, 127).toString()).contains("inOrder false");
  }

  @Test
  void theLastOfTenBytesCountsAndTheEleventhDoesNot() {
    byte[] small = new byte[100];
    byte[] large = new byte[100];
    large[9] = (byte) 200;
    assertThat(new RecordKey(small)).isLessThan(new RecordKey(large));
    byte[] same = small.clone();
    same[10] = 1;
    assertThat(new RecordKey(small)).isEqualByComparingTo(new RecordKey(same)).isEqualTo(new RecordKey(same));
  }

  @Test
  void partsMustFitTogether() {
    assertThat(of(1, 2).then(of()).then(of(2, 3)).toString()).contains("records 4 inOrder true");
    assertThat(of(1, 3).then(of(2, 4)).toString()).contains("records 4 inOrder false");
    assertThat(RecordSummary.empty().then(of(5)).toString()).contains("records 1 inOrder true");
  }

  @Test
  void theChecksumDoesNotDependOnTheOrder() {
    assertThat(of(1, 2, 3).toString().replaceAll(".*checksum", ""))
        .isEqualTo(of(3).then(of(1, 2)).toString().replaceAll(".*checksum", ""));
  }
}
