package org.apache.hadoop.ipc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class RdmaArraysTest {
  private static final int SIZE = RdmaArrays.LEAST;

  private final RdmaArrays arrays = new RdmaArrays();

  private static RpcWritable.Buffer request(ByteBuffer bytes) throws IOException {
    return new RpcWritable.Buffer().readFrom(bytes);
  }

  @Test
  void anArrayIsUsedAgainOnceItsCallIsAnswered() throws IOException {
    ByteBuffer first = arrays.take(SIZE);
    assertThat(arrays.take(SIZE).array()).isNotSameAs(first.array());
    arrays.giveBack(request(first));
    ByteBuffer second = arrays.take(SIZE - 1);
    assertThat(second.array()).isNotSameAs(first.array()); // less than LEAST
    second = arrays.take(SIZE);
    assertThat(second.array()).isSameAs(first.array());
    assertThat(second.remaining()).isEqualTo(SIZE);
  }

  @Test
  void roomHasTheLengthThatWasAskedForWhateverItsArrayHas() throws IOException {
    ByteBuffer first = arrays.take(SIZE + 100);
    arrays.giveBack(request(first));
    ByteBuffer second = arrays.take(SIZE);
    assertThat(second.array()).isSameAs(first.array());
    assertThat(second.capacity()).isEqualTo(SIZE);
    arrays.giveBack(request(second));
    assertThat(arrays.take(2 * SIZE + 200).array()).isNotSameAs(first.array());
  }

  @Test
  void aCallThatIsAnsweredTwiceGivesItsArrayBackOnce() throws IOException {
    RpcWritable.Buffer request = request(arrays.take(SIZE));
    arrays.giveBack(request);
    assertThat(request.remaining()).isZero();
    ByteBuffer lent = arrays.take(SIZE);
    arrays.giveBack(request);
    assertThat(arrays.take(SIZE).array()).isNotSameAs(lent.array());
  }

  @Test
  void foreignArraysAreNotTaken() throws IOException {
    ByteBuffer foreign = ByteBuffer.allocate(SIZE);
    RpcWritable.Buffer request = request(foreign);
    arrays.giveBack(request);
    assertThat(request.remaining()).isEqualTo(SIZE);
    assertThat(arrays.take(SIZE).array()).isNotSameAs(foreign.array());
  }

  @Test
  void whatIsKeptIsBounded() throws IOException {
    RpcWritable.Buffer[] requests = new RpcWritable.Buffer[64];
    for (int i = 0; i < requests.length; i++) {
      requests[i] = request(arrays.take(1 << 20));
    }
    for (RpcWritable.Buffer request : requests) {
      arrays.giveBack(request);
    }
    assertThat(arrays.freeBytes()).isEqualTo(16 << 20);
  }
}
