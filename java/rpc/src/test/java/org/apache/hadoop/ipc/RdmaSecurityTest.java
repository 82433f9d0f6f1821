package org.apache.hadoop.ipc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.minikdc.MiniKdc;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** SASL over the engine: tokens and Kerberos, with and without protection of what is sent. */
@Timeout(120)
class RdmaSecurityTest {
  private static final String PROTECTION = "hadoop.rpc.protection";
  private long connections;

  @BeforeEach
  void count() {
    connections = RdmaMetrics.get().clientConnections().value();
  }

  @AfterEach
  void asBefore() {
    UserGroupInformation.setConfiguration(new Configuration());
    UserGroupInformation.setLoginUser(null);
  }

  private static void callsWork(RdmaTestServer server, Configuration conf, String user) throws Exception {
    RdmaTestProtocol proxy = server.proxy(conf);
    try {
      assertThat(proxy.caller().toString()).startsWith(user + " 127.0.0.1 ");
      for (int size : new int[] {0, 1, 3000, 10_000, 300_000}) {
        BytesWritable bytes = new BytesWritable(new byte[size]);
        assertThat(proxy.echo(bytes)).isEqualTo(bytes);
      }
      assertThatThrownBy(() -> proxy.fail(new Text("as wished"))).hasMessageContaining("as wished");
    } finally {
      RPC.stopProxy(proxy);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"authentication", "integrity", "privacy"})
  void tokensAreTaken(String protection) throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.set(PROTECTION, protection);
    RdmaTestTokens secrets = new RdmaTestTokens();
    try (RdmaTestServer server = new RdmaTestServer(conf, 2, 0, secrets)) {
      UserGroupInformation alice = UserGroupInformation.createRemoteUser("alice");
      Token<RdmaTestTokens.Identifier> token = new Token<>(new RdmaTestTokens.Identifier("alice"), secrets);
      SecurityUtil.setTokenService(token, server.address());
      alice.addToken(token);
      alice.doAs((PrivilegedExceptionAction<Void>) () -> {
        callsWork(server, conf, "alice");
        return null;
      });
    }
    assertThat(RdmaMetrics.get().clientConnections().value() - connections).isEqualTo(1);
  }

  @Test
  void aWrongTokenIsRefusedWithTheServersWords() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    RdmaTestTokens secrets = new RdmaTestTokens();
    try (RdmaTestServer server = new RdmaTestServer(conf, 2, 0, secrets)) {
      UserGroupInformation mallory = UserGroupInformation.createRemoteUser("mallory");
      Token<RdmaTestTokens.Identifier> token = new Token<>(new RdmaTestTokens.Identifier("alice").getBytes(),
          "guessed".getBytes("US-ASCII"), RdmaTestTokens.KIND, new Text());
      SecurityUtil.setTokenService(token, server.address());
      mallory.addToken(token);
      mallory.doAs((PrivilegedExceptionAction<Void>) () -> {
        RdmaTestProtocol proxy = server.proxy(conf);
        assertThatThrownBy(proxy::caller).isInstanceOf(IOException.class).hasMessageContaining("DIGEST-MD5");
        RPC.stopProxy(proxy);
        return null;
      });
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"authentication", "privacy"})
  void kerberosIsSpoken(String protection, @TempDir Path folder) throws Exception {
    Properties settings = MiniKdc.createConf();
    MiniKdc kdc = new MiniKdc(settings, folder.toFile());
    kdc.start();
    try {
      File keytab = folder.resolve("keytab").toFile();
      kdc.createPrincipal(keytab, "client", "server/localhost");
      Configuration conf = RdmaTestServer.forced();
      conf.set("hadoop.security.authentication", "kerberos");
      conf.set(PROTECTION, protection);
      conf.set(RdmaTestProtocol.PRINCIPAL, "server/localhost@" + kdc.getRealm());
      UserGroupInformation.setConfiguration(conf);
      UserGroupInformation.loginUserFromKeytab("server/localhost@" + kdc.getRealm(), keytab.getPath());
      try (RdmaTestServer server = new RdmaTestServer(conf, 2)) {
        UserGroupInformation client = UserGroupInformation.loginUserFromKeytabAndReturnUGI(
            "client@" + kdc.getRealm(), keytab.getPath());
        client.doAs((PrivilegedExceptionAction<Void>) () -> {
          callsWork(server, conf, "client@" + kdc.getRealm());
          return null;
        });
      }
      assertThat(RdmaMetrics.get().clientConnections().value() - connections).isEqualTo(1);
    } finally {
      kdc.stop();
    }
  }
}
