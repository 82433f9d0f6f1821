package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.hadoop.mapred.ShuffleWire.Answer;
import org.apache.hadoop.mapred.ShuffleWire.Location;
import org.apache.hadoop.mapred.ShuffleWire.Request;
import org.junit.jupiter.api.Test;

/** Requests and answers that say where map outputs are. */
class ShuffleWireTest {
  private static final long[] PARTS = {10, 20, 0};
  private static final long[] RAW = {11, 21, 2};

  private static Location[] locations() {
    return new Location[] {new Location("/lustre/a", 5, 100, 1234), null, new Location("/lustre/b", 7, 7, 99)};
  }

  private static ByteBuffer located(Location... locations) {
    return Answer.located("hash", 42, PARTS, RAW, locations);
  }

  @Test
  void aRequestSaysWhetherItAsksForLocations() {
    for (boolean locate : new boolean[] {true, false}) {
      Request request = Request.decode(new Request("/mapOutput?x=y", "hash", locate).encode());
      assertThat(request.locate).isEqualTo(locate);
      assertThat(request.uri).isEqualTo("/mapOutput?x=y");
      assertThat(request.hash).isEqualTo("hash");
    }
  }

  @Test
  void locationsArriveAsTheyWereSent() {
    Answer answer = Answer.decode(located(locations()), 3);
    assertThat(answer.isGranted()).isTrue();
    assertThat(answer.session).isEqualTo(42);
    assertThat(answer.text).isEqualTo("hash");
    assertThat(answer.inlined).isZero();
    assertThat(answer.parts).isEqualTo(PARTS);
    assertThat(answer.raw).isEqualTo(RAW);
    assertThat(answer.locations).hasSize(3).usingRecursiveFieldByFieldElementComparator()
        .containsExactly(locations());
  }

  @Test
  void aMessageThatIsCutOrTooLongIsRefused() {
    ByteBuffer whole = located(locations());
    byte[] bytes = Arrays.copyOf(whole.array(), whole.limit());
    for (int length = 0; length < bytes.length; length++) {
      ByteBuffer cut = ByteBuffer.wrap(Arrays.copyOf(bytes, length));
      assertThatThrownBy(() -> Answer.decode(cut, 3)).as("%d bytes", length)
          .isInstanceOf(IllegalArgumentException.class);
    }
    ByteBuffer longer = ByteBuffer.wrap(Arrays.copyOf(bytes, bytes.length + 1));
    assertThatThrownBy(() -> Answer.decode(longer, 3)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aPartOutsideOfItsFileIsRefused() {
    for (Location bad : new Location[] {new Location("/a", 91, 100, 0), new Location("/a", -1, 100, 0),
        new Location("/a", 0, -1, 0), new Location("/a", Long.MAX_VALUE, Long.MAX_VALUE, 0)}) {
      assertThatThrownBy(() -> Answer.decode(located(bad, null, null), 3)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void locationsThatAreTooManyForAMessageAreLeftOut() {
    int count = 20_000;
    Location[] many = new Location[count];
    Arrays.fill(many, new Location("/a", 0, 0, 0));
    assertThat(Answer.located("hash", 1, new long[count], new long[count], many)).isNull();
  }
}
