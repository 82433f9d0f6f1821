package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.apache.spark.SecurityManager;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.network.sasl.SaslServerBootstrap;
import org.apache.spark.network.sasl.ShuffleSecretManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.shuffle.ExternalShuffleBlockHandler;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;

/** Stock Spark is asked in its own words whether it is one of us, so its log stays as it was. */
@Timeout(60)
class QuestionTest {
  private static final String[] SECRET = {"spark.authenticate=true", "spark.authenticate.secret=sesame"};

  private final List<LoggingEvent> logged = Collections.synchronizedList(new ArrayList<>());
  private final AppenderSkeleton keeper = new AppenderSkeleton() {
    @Override
    protected void append(LoggingEvent event) {
      logged.add(event);
    }

    @Override
    public void close() {
    }

    @Override
    public boolean requiresLayout() {
      return false;
    }
  };

  @BeforeEach
  void listen() {
    Logger.getRootLogger().addAppender(keeper);
  }

  @AfterEach
  void deafen() {
    Logger.getRootLogger().removeAppender(keeper);
  }

  private static boolean ask(int port, boolean authenticates) throws IOException {
    try (Socket socket = new Socket(TestService.HOST, port)) {
      return Question.ask(socket, authenticates, 20_000);
    }
  }

  private void assertNothingIsLogged() throws InterruptedException {
    Thread.sleep(200); // what Spark has to say about the end of a connection would come by now
    assertThat(logged).filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN)
        && event.getLoggerName().matches("(org.apache.spark|io.netty).*"))
        .extracting(LoggingEvent::getRenderedMessage).isEmpty();
  }

  @Test
  void stockExecutorsAnswerAndLogNothing() throws Exception {
    try (TestService stock = TestService.netty(); TestService strict = TestService.netty(SECRET)) {
      assertThat(ask(stock.port(), false)).isFalse();
      assertThat(ask(strict.port(), true)).isFalse();
      assertNothingIsLogged();
    }
  }

  @Test
  void stockShuffleServicesAnswerAndLogNothing() throws Exception {
    TransportConf conf = SparkTransportConf.fromSparkConf(TestService.conf(), "shuffle", 1);
    TransportContext context = new TransportContext(conf, new ExternalShuffleBlockHandler(conf, null), true);
    List<TransportServerBootstrap> sasl = Collections.singletonList(
        new SaslServerBootstrap(conf, new ShuffleSecretManager()));
    try (TransportServer open = context.createServer(0, Collections.emptyList());
        TransportServer strict = context.createServer(0, sasl)) {
      assertThat(ask(open.getPort(), false)).isFalse();
      assertThat(ask(strict.getPort(), true)).isFalse();
      assertNothingIsLogged();
    }
  }

  @Test
  void aFallbackLeavesNoTraceInAStockLog() throws Exception {
    try (TestService client = TestService.rdma(); TestService stock = TestService.netty()) {
      stock.blocks.put("rdd_1_1", new TestService.Counted(new byte[] {1}));
      Fetched fetched = Fetched.of(client, stock, "rdd_1_1");
      assertThat(fetched.read("rdd_1_1")).containsExactly(1);
      fetched.release();
      assertThat(client.rdma.metrics().fallbacks.getCount()).isEqualTo(1);
      assertNothingIsLogged();
    }
  }

  @Test
  void serversOfOursSayYesByteByByteToo() throws Exception {
    try (TestService ours = TestService.rdma()) {
      assertThat(ask(ours.port(), false)).isTrue();
      for (byte[] form : Question.forms()) {
        try (Socket socket = new Socket(TestService.HOST, ours.port())) {
          socket.setTcpNoDelay(true);
          for (byte one : form) {
            socket.getOutputStream().write(one);
            Thread.sleep(1);
          }
          byte[] answer = new byte[Question.ANSWER.length];
          new java.io.DataInputStream(socket.getInputStream()).readFully(answer);
          assertThat(answer).isEqualTo(Question.ANSWER);
        }
      }
    }
  }

  /** A frame of stock Spark's that begins as the question does goes to Spark as it came. */
  @Test
  void whatOnlyBeginsAsTheQuestionIsHandedOn() throws Exception {
    try (TestService ours = TestService.rdma()) {
      for (int same : new int[] {8, 9, 20, 25, 40}) {
        byte[] other = Arrays.copyOf(Question.forms()[0], Question.forms()[0].length);
        for (int i = Math.max(same, 9); i < 17; i++) {
          other[i] ^= 1; // the request's number: Spark's answer has it
        }
        if (same > 17) {
          other[26] ^= 1; // the application's name, which is not looked at
        }
        try (Socket socket = new Socket(TestService.HOST, ours.port())) {
          socket.setSoTimeout(20_000);
          socket.getOutputStream().write(other);
          byte[] head = new byte[17];
          new java.io.DataInputStream(socket.getInputStream()).readFully(head);
          assertThat(head[8]).isEqualTo((byte) 4); // an answer to an RPC
          assertThat(Arrays.copyOfRange(head, 9, 17)).isEqualTo(Arrays.copyOfRange(other, 9, 17));
        }
      }
    }
  }

  @Test
  void securityIsAskedForAsTheApplicationHasIt() {
    assertThat(new Handshake("a", new SecurityManager(TestService.conf(SECRET), Option.empty())).authenticates())
        .isTrue();
    assertThat(new Handshake("a", null).authenticates()).isFalse();
  }
}
