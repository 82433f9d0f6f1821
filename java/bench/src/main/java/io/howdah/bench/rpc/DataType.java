package io.howdah.bench.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.ServiceException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos.DirectoryListingProto;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos.FsPermissionProto;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos.HdfsFileStatusProto;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.ProtobufHelper;
import org.apache.hadoop.security.proto.SecurityProtos.TokenProto;

/** What a call carries, there and back. Each knows how to make a payload, send it, and compare it with the answer. */
enum DataType {
  /** A protobuf message that is nearly all one field of bytes. */
  PROTOBUF(true) {
    @Override
    Object make(int size, long stamp) {
      return TokenProto.newBuilder().setIdentifier(ByteString.copyFrom(bytes(size, stamp)))
          .setPassword(ByteString.EMPTY).setKind("").setService("").build();
    }

    @Override
    Object send(Object proxy, Object payload) throws IOException {
      try {
        return ((ProtobufEcho) proxy).echo(null, (TokenProto) payload);
      } catch (ServiceException e) {
        throw ProtobufHelper.getRemoteException(e);
      }
    }

    @Override
    int length(Object payload) {
      return ((TokenProto) payload).getIdentifier().size();
    }
  },

  /** A protobuf message of many fields: the answer to listing a folder, with about as many bytes as asked for. */
  LISTING(true) {
    @Override
    Object make(int size, long stamp) {
      DirectoryListingProto.Builder listing = DirectoryListingProto.newBuilder().setRemainingEntries(0);
      int length = 0;
      for (int i = 0; i == 0 || length < size; i++) {
        HdfsFileStatusProto file = HdfsFileStatusProto.newBuilder()
            .setFileType(HdfsFileStatusProto.FileType.IS_FILE)
            .setPath(ByteString.copyFromUtf8(String.format(Locale.ROOT, "part-r-%05d", i)))
            .setLength(128L << 20).setPermission(FsPermissionProto.newBuilder().setPerm(0644))
            .setOwner("hdfs").setGroup("supergroup").setModificationTime(1480000000000L + stamp)
            .setAccessTime(1480000000000L).setBlockReplication(3).setBlocksize(128L << 20).build();
        listing.addPartialListing(file);
        length += file.getSerializedSize() + 2;
      }
      return listing.build();
    }

    @Override
    Object send(Object proxy, Object payload) throws IOException {
      try {
        return ((ProtobufEcho) proxy).list(null, (DirectoryListingProto) payload);
      } catch (ServiceException e) {
        throw ProtobufHelper.getRemoteException(e);
      }
    }

    @Override
    int length(Object payload) {
      return ((DirectoryListingProto) payload).getPartialListingCount();
    }
  },

  BYTES(false) {
    @Override
    Object make(int size, long stamp) {
      return new BytesWritable(bytes(size, stamp));
    }

    @Override
    Object send(Object proxy, Object payload) throws IOException {
      return ((EchoProtocol) proxy).echo((BytesWritable) payload);
    }

    @Override
    int length(Object payload) {
      return ((BytesWritable) payload).getLength();
    }
  },

  /** Text of ASCII characters. */
  TEXT(false) {
    @Override
    Object make(int size, long stamp) {
      byte[] text = bytes(size, stamp);
      for (int i = 0; i < size; i++) {
        text[i] = (byte) ('a' + (text[i] & 15));
      }
      return new Text(text);
    }

    @Override
    Object send(Object proxy, Object payload) throws IOException {
      return ((EchoProtocol) proxy).echoText((Text) payload);
    }

    @Override
    int length(Object payload) {
      return ((Text) payload).getLength();
    }
  },

  /** An array of longs, as long as the size allows, of at least one. */
  LONGS(false) {
    @Override
    Object make(int size, long stamp) {
      long[] longs = new long[Math.max(1, size / Long.BYTES)];
      Arrays.setAll(longs, i -> stamp + i);
      return longs;
    }

    @Override
    Object send(Object proxy, Object payload) throws IOException {
      return ((EchoProtocol) proxy).echoLongs((long[]) payload);
    }

    @Override
    int length(Object payload) {
      return ((long[]) payload).length;
    }

    @Override
    boolean same(Object sent, Object got) {
      return Arrays.equals((long[]) sent, (long[]) got);
    }
  };

  private final boolean protobuf;

  DataType(boolean protobuf) {
    this.protobuf = protobuf;
  }

  /** The type of that name, whatever its case. */
  static DataType named(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT));
  }

  /** The interface that its method is in. */
  Class<?> protocol() {
    return protobuf ? ProtobufEcho.class : EchoProtocol.class;
  }

  /** A payload of that many bytes whose contents depend on the stamp. */
  abstract Object make(int size, long stamp);

  abstract Object send(Object proxy, Object payload) throws IOException;

  /** What is compared after each measured call: cheap. */
  abstract int length(Object payload);

  /** Whether the answer is the whole of what was sent. */
  boolean same(Object sent, Object got) {
    return sent.equals(got);
  }

  private static byte[] bytes(int size, long stamp) {
    byte[] bytes = new byte[size];
    long value = stamp * 0x9e3779b97f4a7c15L + 1;
    for (int i = 0; i < size; i++) {
      value ^= value << 13;
      value ^= value >>> 7;
      value ^= value << 17;
      bytes[i] = (byte) value;
    }
    return bytes;
  }
}
