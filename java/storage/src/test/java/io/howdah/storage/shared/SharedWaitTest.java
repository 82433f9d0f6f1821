package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.FileNotFoundException;
import java.nio.file.Paths;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waiting for a shared path that may not answer. */
@Timeout(300)
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
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch interrupted = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    try (SharedWait wait = new SharedWait("test", 1, Paths.get("/shared"), 200)) {
      assertThat(wait.isBusy()).isFalse();
      Callable<Void> step = () -> {
        begun.countDown();
        while (true) { // as a system call that does not return
          try {
            never.await();
            return null;
          } catch (InterruptedException e) {
            interrupted.countDown();
          }
        }
      };
      do { // on a busy machine the time may be over before a thread begins
        assertThatThrownBy(() -> wait.run(step)).isInstanceOf(SharedWait.NoAnswer.class)
            .hasMessageContaining("/shared did not answer within 200 ms (dfs.rdma.lustre.timeout)");
      } while (begun.getCount() > 0);
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
