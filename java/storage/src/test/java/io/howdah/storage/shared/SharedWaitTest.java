package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.FileNotFoundException;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Waiting for a shared path that may not answer. */
class SharedWaitTest {
  @Test
  void whatAStepGivesOrThrowsIsPassedOn() throws Exception {
    try (SharedWait wait = new SharedWait("test", 1, Paths.get("/shared"), 600_000)) {
      assertThat(wait.run(() -> 7)).isEqualTo(7);
      assertThatThrownBy(() -> wait.run(() -> {
        throw new FileNotFoundException("x");
      })).isInstanceOf(FileNotFoundException.class);
      assertThatThrownBy(() -> wait.run(() -> {
        throw new IllegalStateException("y");
      })).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> wait.run(() -> {
        throw new OutOfMemoryError("z");
      })).isInstanceOf(OutOfMemoryError.class);
    }
  }

  @Test
  void aStepThatDoesNotEndIsInterruptedAndHoldsOneThread() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    try (SharedWait wait = new SharedWait("test", 1, Paths.get("/shared"), 200)) {
      assertThat(wait.isBusy()).isFalse();
      assertThatThrownBy(() -> wait.run(() -> {
        while (true) { // as a system call that does not return
          try {
            never.await();
            return null;
          } catch (InterruptedException e) {
            interrupted.countDown();
          }
        }
      })).isInstanceOf(SharedWait.NoAnswer.class).hasMessageContaining("/shared did not answer within 200 ms "
          + "(dfs.rdma.lustre.timeout)");
      interrupted.await();
      assertThat(wait.isBusy()).isTrue();
      assertThatThrownBy(() -> wait.run(() -> null)).isInstanceOf(SharedWait.NoAnswer.class);
      never.countDown();
      while (wait.isBusy()) {
        Thread.sleep(5);
      }
    }
  }
}
