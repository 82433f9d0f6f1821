package io.howdah.bench.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WorkerTest {
  private final Worker worker = new Worker(new Configuration());
  private int port;

  @BeforeEach
  void serve() {
    port = number(answer("serve 127.0.0.1 0 2"), "port");
  }

  @AfterEach
  void shut() {
    answer("shut " + port);
  }

  private Map<String, ?> answer(String command) {
    Map<String, ?> answer = worker.answer(command);
    assertThat(answer).as(command).doesNotContainKey("error");
    return answer;
  }

  private static int number(Map<String, ?> answer, String name) {
    return ((Number) answer.get(name)).intValue();
  }

  @ParameterizedTest
  @EnumSource(DataType.class)
  void everyTypeIsEchoed(DataType type) {
    for (int size : new int[] {1, 512, 100000}) {
      Map<String, ?> times = answer("calls " + type + " " + size + " 127.0.0.1 " + port + " 20");
      assertThat(times.get("count")).isEqualTo(20);
      assertThat(((Number) times.get("max")).doubleValue()).isGreaterThan(0);
    }
    answer("reconnect " + type + " 64 127.0.0.1 " + port + " 3");
  }

  @Test
  void aLoadCountsItsCalls() throws InterruptedException {
    answer("begin protobuf 512 127.0.0.1 " + port + " 4");
    while (number(answer("stats"), "calls") < 100) {
      Thread.sleep(5);
    }
    answer("mark");
    Map<String, ?> end = answer("end");
    assertThat(number(end, "calls")).isGreaterThanOrEqualTo(100);
    assertThat(number(end, "failed") + number(end, "hung") + number(end, "wrong")).isZero();
  }

  @Test
  void whatOneCallAllocatesIsSeen() {
    answer("calls protobuf 100000 127.0.0.1 " + port + " 50");
    long before = ((Number) answer("stats").get("allocated")).longValue();
    answer("calls protobuf 100000 127.0.0.1 " + port + " 50");
    long after = ((Number) answer("stats").get("allocated")).longValue();
    // The server decodes each payload, and so does the client, in this one process.
    assertThat((after - before) / 50).isGreaterThan(200000);
  }

  @Test
  void anEnduringLoadGoesOnWhenTheServerIsGoneAndSaysWhichServerItWas() throws InterruptedException {
    Configuration conf = new Configuration();
    conf.setInt("ipc.client.connect.max.retries", 0);
    Worker client = new Worker(conf);
    Map<String, ?> server = answer("serve 127.0.0.1 0 1");
    int other = number(server, "port");
    client.answer("begin protobuf 64 127.0.0.1 " + other + " 2 endure");
    while (number(client.answer("stats"), "calls") < 10) {
      Thread.sleep(5);
    }
    answer("shut " + other);
    while (number(client.answer("stats"), "failed") < 4) {
      Thread.sleep(5);
    }
    Map<String, ?> end = client.answer("end");
    assertThat(number(end, "unnamed") + number(end, "wrong") + number(end, "hung")).as(end.toString()).isZero();
  }

  @Test
  void statsOfAnotherProcessComeOverTheWire() {
    assertThat(answer("remote 127.0.0.1 " + port)).containsKeys("cpu", "allocated", "nanos");
  }

  @Test
  void aProfileNamesThreadsAndFrames() throws InterruptedException {
    answer("begin protobuf 512 127.0.0.1 " + port + " 2");
    answer("profile");
    while (number(answer("stats"), "calls") < 2000) {
      Thread.sleep(5);
    }
    assertThat(answer("unprofile 5").get("cpu").toString()).contains("caller-N");
    answer("end");
  }

  @Test
  void aWrongCommandIsAnError() {
    assertThat(worker.answer("dance")).containsKey("error");
    assertThat(worker.answer("calls protobuf")).containsKey("error");
  }
}
