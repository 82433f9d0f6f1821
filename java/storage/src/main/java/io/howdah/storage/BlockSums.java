package io.howdah.storage;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.hdfs.server.datanode.BlockMetadataHeader;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.InvalidChecksumSizeException;

/** The checksums of a block's files. */
public final class BlockSums {
  /** Bytes that are verified at a time, at least a chunk. */
  private static final int PIECE = 1 << 18;
  /** A meta file that says that a chunk is larger is damaged. */
  private static final int LARGEST_CHUNK = 1 << 26;

  private BlockSums() {
  }

  /**
   * Whether a block's data has the checksums of its meta file. Reads all of both.
   *
   * @param length how many bytes the block has
   * @throws IOException if the files cannot be read
   */
  public static boolean areRight(Path data, Path meta, long length) throws IOException {
    if (Files.size(data) < length) {
      return false;
    }
    try (DataInputStream sums = new DataInputStream(new BufferedInputStream(Files.newInputStream(meta)));
        InputStream in = Files.newInputStream(data)) {
      DataChecksum checksum = BlockMetadataHeader.readHeader(sums).getChecksum();
      return checksum.getBytesPerChecksum() <= LARGEST_CHUNK && areRight(checksum, in, sums, length);
    } catch (ChecksumException | EOFException | InvalidChecksumSizeException | IllegalArgumentException e) {
      return false;
    }
  }

  private static boolean areRight(DataChecksum checksum, InputStream in, DataInputStream sums, long length)
      throws IOException {
    int most = Math.max(1, PIECE / checksum.getBytesPerChecksum());
    byte[] bytes = new byte[most * checksum.getBytesPerChecksum()];
    byte[] wanted = new byte[most * checksum.getChecksumSize()];
    for (long left = length; left > 0; left -= bytes.length) {
      int count = (int) Math.min(bytes.length, left);
      int chunks = (count + checksum.getBytesPerChecksum() - 1) / checksum.getBytesPerChecksum();
      IOUtils.readFully(in, bytes, 0, count);
      sums.readFully(wanted, 0, chunks * checksum.getChecksumSize());
      checksum.verifyChunkedSums(ByteBuffer.wrap(bytes, 0, count),
          ByteBuffer.wrap(wanted, 0, chunks * checksum.getChecksumSize()), "", 0);
    }
    return true;
  }
}
