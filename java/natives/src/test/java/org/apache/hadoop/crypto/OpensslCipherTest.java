package org.apache.hadoop.crypto;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import javax.crypto.Cipher;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.crypto.random.OpensslSecureRandom;
import org.junit.jupiter.api.Test;

/** AES in counter mode against that of Java, and random bytes. */
class OpensslCipherTest {
  private static final String AES = "AES/CTR/NoPadding";
  private final Random random = new Random(3);

  private byte[] bytes(int size) {
    byte[] result = new byte[size];
    random.nextBytes(result);
    return result;
  }

  @Test
  void encryptsAsJavaDoes() throws Exception {
    assertThat(OpensslCipher.getLoadingFailureReason()).isNull();
    OpensslCipher cipher = OpensslCipher.getInstance(AES);
    for (int keySize : new int[] {16, 24, 32}) {
      byte[] key = bytes(keySize);
      byte[] iv = bytes(16);
      byte[] plain = bytes(100003);
      Cipher java = Cipher.getInstance(AES);
      java.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(iv));
      byte[] expected = java.doFinal(plain);
      for (int mode : new int[] {OpensslCipher.ENCRYPT_MODE, OpensslCipher.DECRYPT_MODE}) {
        cipher.init(mode, key, iv);
        ByteBuffer in = ByteBuffer.allocateDirect(plain.length);
        in.put(mode == OpensslCipher.ENCRYPT_MODE ? plain : expected).flip();
        ByteBuffer out = ByteBuffer.allocateDirect(plain.length + 20);
        in.limit(1001);
        assertThat(cipher.update(in, out)).isEqualTo(1001);
        in.limit(plain.length);
        cipher.update(in, out);
        cipher.doFinal(out);
        out.flip();
        assertThat(out).isEqualTo(ByteBuffer.wrap(mode == OpensslCipher.ENCRYPT_MODE ? expected : plain));
      }
    }
    cipher.clean();
    cipher.clean();
    assertThatThrownBy(() -> cipher.update(ByteBuffer.allocateDirect(1), ByteBuffer.allocateDirect(1)))
        .isInstanceOf(IllegalStateException.class);
    cipher.init(OpensslCipher.ENCRYPT_MODE, bytes(16), bytes(16));
    cipher.clean();
  }

  @Test
  void whatDoesNotFitIsRefused() throws Exception {
    OpensslCipher cipher = OpensslCipher.getInstance(AES);
    assertThatThrownBy(() -> cipher.init(OpensslCipher.ENCRYPT_MODE, bytes(17), bytes(16)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> cipher.init(OpensslCipher.ENCRYPT_MODE, bytes(16), bytes(15)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> cipher.init(OpensslCipher.ENCRYPT_MODE, null, bytes(16)))
        .isInstanceOf(NullPointerException.class);
    cipher.init(OpensslCipher.ENCRYPT_MODE, bytes(16), bytes(16));
    assertThatThrownBy(() -> cipher.update(ByteBuffer.allocateDirect(17), ByteBuffer.allocateDirect(16)))
        .isInstanceOf(ShortBufferException.class);
    cipher.clean();
  }

  @Test
  void randomBytesDiffer() {
    assertThat(OpensslSecureRandom.isNativeCodeLoaded()).isTrue();
    OpensslSecureRandom source = new OpensslSecureRandom();
    Set<Long> seen = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      seen.add(source.nextLong());
    }
    assertThat(seen).hasSize(1000);
    byte[] many = new byte[5000];
    source.nextBytes(many);
    assertThat(ByteBuffer.wrap(many, 4000, 1000)).isNotEqualTo(ByteBuffer.wrap(new byte[1000]));
  }
}
