package org.apache.spark.network.rdma;

import io.howdah.engine.FetchParams;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What is asked for, as it travels in the name of a fetch: some blocks of a session, or a piece of one that was opened.
 * Shuffle blocks take a few bytes each, so a name holds a hundred of them. Who asks a shuffle service says whose blocks
 * they are. A peer's bytes are checked as they are read.
 */
final class BlockRequest {
  private static final byte VERSION = 1;
  private static final byte BATCH = 1;
  private static final byte PIECE = 2;
  /** Blocks of an executor that is named, which a shuffle service has. */
  private static final byte BATCH_OF = 3;
  private static final byte TEXT = 0;
  private static final byte SHUFFLE = 1;
  private static final int HEADER = 1 + 1 + Long.BYTES;
  private static final int VARINT_MAX = 5;
  private static final int EXECUTOR_MAX = 127;
  private static final String SHUFFLE_PREFIX = "shuffle_";

  final long session;
  /** Whose blocks they are; null for those of the server itself. */
  final String executor;
  /** The blocks, or null for a piece. */
  final List<BlockName> blocks;
  final long handle;

  private BlockRequest(long session, String executor, List<BlockName> blocks, long handle) {
    this.session = session;
    this.executor = executor;
    this.blocks = blocks;
    this.handle = handle;
  }

  // Writing.

  /** Writes as many of the blocks, from the first on, as fit. */
  static final class Writer {
    private final ByteBuffer name = ByteBuffer.allocate(FetchParams.NAME_MAX);
    private int count;

    /** @param executor whose blocks they are, or null: the server's own */
    Writer(long session, String executor) {
      name.put(VERSION).put(executor == null ? BATCH : BATCH_OF).putLong(session);
      if (executor != null) {
        byte[] text = executor.getBytes(StandardCharsets.UTF_8);
        if (text.length > EXECUTOR_MAX) {
          throw new IllegalArgumentException("an executor's name of " + text.length + " bytes");
        }
        name.put((byte) text.length).put(text);
      }
    }

    /** @return false if there is no room for another one */
    boolean add(String block) {
      int[] numbers = shuffle(block);
      if (numbers != null) {
        if (!fits(1 + numbers.length * VARINT_MAX)) {
          return false;
        }
        name.put(SHUFFLE);
        for (int number : numbers) {
          putVarint(name, number);
        }
      } else {
        byte[] text = block.getBytes(StandardCharsets.UTF_8);
        if (!fits(1 + Short.BYTES + text.length)) {
          return false;
        }
        name.put(TEXT).putShort((short) text.length).put(text);
      }
      count++;
      return true;
    }

    /** @throws IllegalArgumentException for what would not fit into an empty one */
    private boolean fits(int bytes) {
      if (bytes > name.remaining() && count == 0) {
        throw new IllegalArgumentException("a block's name of " + bytes + " bytes");
      }
      return bytes <= name.remaining();
    }

    int count() {
      return count;
    }

    byte[] name() {
      return java.util.Arrays.copyOf(name.array(), name.position());
    }
  }

  static byte[] piece(long session, long handle) {
    return ByteBuffer.allocate(HEADER + Long.BYTES).put(VERSION).put(PIECE).putLong(session).putLong(handle).array();
  }

  /** The numbers of shuffle_1_2_3, or null if it is nothing that such numbers stand for. */
  private static int[] shuffle(String block) {
    if (!block.startsWith(SHUFFLE_PREFIX)) {
      return null;
    }
    int[] numbers = new int[3];
    int at = SHUFFLE_PREFIX.length();
    for (int i = 0; i < numbers.length; i++) {
      int end = i == numbers.length - 1 ? block.length() : block.indexOf('_', at);
      // Nine digits at most and no leading zero: what Spark makes of the numbers again is the same name.
      if (end <= at || end - at > 9 || block.charAt(at) == '0' && end - at > 1) {
        return null;
      }
      for (; at < end; at++) {
        char digit = block.charAt(at);
        if (digit < '0' || digit > '9') {
          return null;
        }
        numbers[i] = numbers[i] * 10 + digit - '0';
      }
      at++;
    }
    return numbers;
  }

  private static void putVarint(ByteBuffer to, int number) {
    int rest = number;
    while (rest > 0x7f) {
      to.put((byte) (rest & 0x7f | 0x80));
      rest >>>= 7;
    }
    to.put((byte) rest);
  }

  // Reading.

  /** The session that bytes of a peer name, or 0 if they are too few to name one. */
  static long sessionOf(byte[] name) {
    return name.length < HEADER ? 0 : ByteBuffer.wrap(name).getLong(2);
  }

  /** @throws IllegalArgumentException if it is not what a client of ours writes */
  static BlockRequest parse(byte[] bytes) {
    ByteBuffer name = ByteBuffer.wrap(bytes);
    try {
      byte version = name.get();
      if (version != VERSION) {
        throw new IllegalArgumentException("a request of version " + version + "; this is version " + VERSION);
      }
      byte kind = name.get();
      long session = name.getLong();
      switch (kind) {
        case BATCH:
          return new BlockRequest(session, null, blocks(name), 0);
        case BATCH_OF:
          return new BlockRequest(session, executor(name), blocks(name), 0);
        case PIECE:
          return new BlockRequest(session, null, null, name.getLong());
        default:
          throw new IllegalArgumentException("a request of kind " + kind);
      }
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("a request that ends too early, after " + bytes.length + " bytes", e);
    }
  }

  private static String executor(ByteBuffer name) {
    int length = name.get();
    if (length < 0) {
      throw new IllegalArgumentException("an executor's name of " + (length & 0xff) + " bytes");
    }
    return text(name, length);
  }

  private static String text(ByteBuffer name, int length) {
    byte[] text = new byte[length];
    name.get(text);
    return new String(text, StandardCharsets.UTF_8);
  }

  private static List<BlockName> blocks(ByteBuffer name) {
    List<BlockName> blocks = new ArrayList<>();
    while (name.hasRemaining()) {
      byte type = name.get();
      if (type == SHUFFLE) {
        blocks.add(new BlockName(varint(name), varint(name), varint(name)));
      } else if (type == TEXT) {
        blocks.add(new BlockName(text(name, Math.min(name.getShort() & 0xffff, FetchParams.NAME_MAX))));
      } else {
        throw new IllegalArgumentException("a block's name of type " + type);
      }
    }
    if (blocks.isEmpty()) {
      throw new IllegalArgumentException("a request for no block");
    }
    return blocks;
  }

  private static int varint(ByteBuffer from) {
    int number = 0;
    for (int i = 0; i < VARINT_MAX; i++) {
      byte next = from.get();
      number |= (next & 0x7f) << 7 * i;
      if (next >= 0) {
        if (number < 0) {
          break;
        }
        return number;
      }
    }
    throw new IllegalArgumentException("a number that is too large");
  }

  /** Strings of control messages. */
  static void putText(ByteBuffer to, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    to.putInt(bytes.length).put(bytes);
  }


  static String text(ByteBuffer from) {
    return new String(bytes(from), StandardCharsets.UTF_8);
  }

  /** @throws IllegalArgumentException if there are fewer than the peer says */
  static byte[] bytes(ByteBuffer from) {
    if (from.remaining() < Integer.BYTES) {
      throw new IllegalArgumentException("a message that ends too early");
    }
    int length = from.getInt();
    if (length < 0 || length > from.remaining()) {
      throw new IllegalArgumentException("a message that ends too early");
    }
    byte[] bytes = new byte[length];
    from.get(bytes);
    return bytes;
  }
}
