package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BlockRequestTest {
  @Test
  void namesComeBackAsTheyWere() {
    String[] names = {"shuffle_0_0_0", "shuffle_1_2_3", "shuffle_999999999_128_127", "shuffle_2147483647_1_2",
        "shuffle_01_2_3".replace("01", "10"), "rdd_1_2", "broadcast_5", "broadcast_5_piece0", "taskresult_7", "test_x"};
    BlockRequest.Writer writer = new BlockRequest.Writer(-77, null);
    for (String name : names) {
      assertThat(writer.add(name)).isTrue();
    }
    BlockRequest request = BlockRequest.parse(writer.name());
    assertThat(request.session).isEqualTo(-77);
    assertThat(request.executor).isNull();
    assertThat(request.blocks).extracting(BlockName::toString).containsExactly(names);
  }

  private static String xs(int count) {
    return new String(new char[count]).replace('\0', 'x');
  }

  @Test
  void whoseBlocksTheyAreComesBackToo() {
    for (String executor : new String[] {"", "7", xs(127)}) {
      BlockRequest.Writer writer = new BlockRequest.Writer(3, executor);
      assertThat(writer.add("shuffle_1_2_3")).isTrue();
      BlockRequest request = BlockRequest.parse(writer.name());
      assertThat(request.executor).isEqualTo(executor);
      assertThat(request.blocks).extracting(BlockName::toString).containsExactly("shuffle_1_2_3");
    }
    BlockRequest.Writer crowded = new BlockRequest.Writer(3, xs(127));
    assertThatThrownBy(() -> crowded.add("test_" + xs(900)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new BlockRequest.Writer(3, xs(128)))
        .isInstanceOf(IllegalArgumentException.class);
    byte[] negative = new BlockRequest.Writer(3, "7").name();
    negative[10] = -1;
    assertThatThrownBy(() -> BlockRequest.parse(negative)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aNameHoldsManyShuffleBlocks() {
    BlockRequest.Writer writer = new BlockRequest.Writer(1, null);
    int count = 0;
    while (writer.add("shuffle_7_" + 1000 + count + "_" + (500 + count))) {
      count++;
    }
    assertThat(count).isBetween(120, 400);
    assertThat(BlockRequest.parse(writer.name()).blocks).hasSize(count);
    assertThat(writer.name().length).isLessThanOrEqualTo(1024);
    assertThat(new BlockRequest.Writer(1, null).add("test_" + xs(1000))).isTrue();
    assertThatThrownBy(() -> new BlockRequest.Writer(1, null).add("test_" + xs(1010)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void hostileNamesAreRefused() {
    BlockRequest.Writer writer = new BlockRequest.Writer(1, null);
    writer.add("shuffle_1_2_3");
    writer.add("rdd_4_5");
    byte[] good = writer.name();
    for (int length = 0; length < good.length; length++) {
      byte[] cut = java.util.Arrays.copyOf(good, length);
      if (length != 14) { // the first block alone is a whole request
        assertThatThrownBy(() -> BlockRequest.parse(cut)).isInstanceOf(IllegalArgumentException.class);
      }
    }
    Random random = new Random(11);
    for (int i = 0; i < 200_000; i++) {
      byte[] bytes = good.clone();
      for (int j = random.nextInt(3); j >= 0; j--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      try {
        BlockRequest.parse(bytes);
      } catch (IllegalArgumentException e) {
        assertThat(e.getMessage()).isNotEmpty();
      }
    }
  }

  @Test
  void hostileAnswersAreRefused() {
    ByteBuffer reply = ByteBuffer.allocate(BatchReply.tableSize(2) + 10);
    BatchReply.put(reply, 0, BatchReply.DATA, 4, 0);
    BatchReply.put(reply, 1, BatchReply.REFUSED, 6, 0);
    BatchReply good = BatchReply.parse(reply, 2);
    assertThat(good.offset(1)).isEqualTo(BatchReply.tableSize(2) + 4);
    assertThatThrownBy(() -> BatchReply.parse(reply, 3)).isInstanceOf(IllegalArgumentException.class);
    for (long length : new long[] {7, -1, Long.MAX_VALUE, 1L << 32}) {
      BatchReply.put(reply, 1, BatchReply.DATA, length, 0);
      assertThatThrownBy(() -> BatchReply.parse(reply, 2)).isInstanceOf(IllegalArgumentException.class);
    }
    BatchReply.put(reply, 1, 4, 1, 0);
    assertThatThrownBy(() -> BatchReply.parse(reply, 2)).isInstanceOf(IllegalArgumentException.class);
    BatchReply.put(reply, 1, BatchReply.OPENED, Long.MAX_VALUE, 3);
    assertThat(BatchReply.parse(reply, 2).length(1)).isEqualTo(Long.MAX_VALUE);
  }
}
