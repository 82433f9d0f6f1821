package io.howdah.engine;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Writes files from direct memory without a copy, as {@link FileOutputStream#write} does: where the file's position is,
 * and whole, interrupts or not. A FileChannel would be closed by an interrupt. Thread-safe as the file is.
 */
public final class DirectWrite {
  private DirectWrite() {
  }

  /**
   * Writes what the buffer has left.
   *
   * @param from a direct buffer; its position ends at the limit, or stays if it fails
   * @throws IOException with the system's words; some bytes may have been written
   * @throws UnsatisfiedLinkError where the engine was not loaded
   */
  public static void write(FileOutputStream to, ByteBuffer from) throws IOException {
    if (!from.isDirect()) {
      throw new IllegalArgumentException("a direct buffer is needed");
    }
    Native.fileWrite(Descriptors.of(to.getFD()), Memory.address(from) + from.position(), from.remaining());
    from.position(from.limit());
  }
}
