package org.apache.hadoop.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Groups of users, as the C library knows them. */
class NativeGroupsTest {
  private static String[] groups(String user) throws Exception {
    Process id = new ProcessBuilder("id", "-Gn", user).start();
    try (BufferedReader reader = new BufferedReader(new InputStreamReader(id.getInputStream(),
        StandardCharsets.UTF_8))) {
      return reader.readLine().split(" ");
    }
  }

  @Test
  void theSameAsId() throws Exception {
    for (String user : new String[] {"root", System.getProperty("user.name"), "nobody", "daemon"}) {
      assertThat(new JniBasedUnixGroupsMapping().getGroups(user)).containsExactly(groups(user));
    }
  }

  @Test
  void aUserThatNobodyKnowsHasNone() throws Exception {
    assertThat(new JniBasedUnixGroupsMapping().getGroups("no-such-user")).isEmpty();
    assertThatThrownBy(() -> JniBasedUnixGroupsMapping.getGroupsForUser(null)).isInstanceOf(NullPointerException.class);
  }

  @Test
  void aNetgroupThatIsNotThereHasNoUsers() throws Exception {
    assertThat(new JniBasedUnixGroupsNetgroupMapping().getUsersForNetgroupJNI("no-such-netgroup")).isEmpty();
  }
}
