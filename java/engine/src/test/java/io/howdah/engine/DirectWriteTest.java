package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files are written from direct memory as from arrays. */
class DirectWriteTest {
  @TempDir
  Path folder;

  @BeforeEach
  void load() {
    assertThat(Engine.isAvailable()).isTrue();
  }

  private static ByteBuffer direct(String text) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(text.length());
    buffer.put(text.getBytes()).flip();
    return buffer;
  }

  @Test
  void bytesGoWhereTheFileIs() throws Exception {
    File file = folder.resolve("file").toFile();
    try (FileOutputStream out = new FileOutputStream(file)) {
      out.write("one ".getBytes());
      ByteBuffer bytes = direct("xtwo three");
      bytes.position(1).limit(5);
      Thread.currentThread().interrupt(); // which would close a channel
      DirectWrite.write(out, bytes);
      assertThat(Thread.interrupted()).isTrue();
      assertThat(bytes.hasRemaining()).isFalse();
      bytes.limit(10);
      DirectWrite.write(out, bytes);
      DirectWrite.write(out, bytes); // of which nothing is left
      out.write(" four".getBytes());
    }
    assertThat(new String(Files.readAllBytes(file.toPath()))).isEqualTo("one two three four");
  }

  @Test
  void whatFailsSaysWhy() throws Exception {
    ByteBuffer bytes = direct("bytes");
    FileOutputStream full = new FileOutputStream("/dev/full");
    try {
      assertThatThrownBy(() -> DirectWrite.write(full, bytes)).isExactlyInstanceOf(IOException.class)
          .hasMessage("No space left on device");
      assertThat(bytes.remaining()).isEqualTo(5);
    } finally {
      full.close();
    }
    assertThatThrownBy(() -> DirectWrite.write(full, bytes)).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> DirectWrite.write(null, ByteBuffer.allocate(1)))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
