package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which DataNodes serve another one's copies. */
class MembersTest {
  private static final long TIMEOUT = 1000;

  @TempDir
  private Path path;

  private List<Members> members(int count, int keepers) throws IOException {
    List<Members> all = new ArrayList<>();
    Files.createDirectories(path.resolve("BP/members"));
    for (int i = 0; i < count; i++) {
      all.add(new Members(path, "BP", "node-" + i, keepers, TIMEOUT));
      all.get(i).beat();
    }
    for (Members each : all) {
      each.look();
    }
    return all;
  }

  /** The keepers of each member, when only those that are not null still beat. */
  private static Map<String, Set<String>> keepers(List<Members> all, long now) throws IOException {
    for (Members each : all) {
      if (each != null) {
        each.beat();
      }
    }
    Map<String, Set<String>> keepers = new HashMap<>();
    for (int i = 0; i < all.size(); i++) {
      if (all.get(i) != null) {
        for (String owner : all.get(i).kept(now)) {
          keepers.computeIfAbsent(owner, key -> new TreeSet<>()).add("node-" + i);
        }
      }
    }
    return keepers;
  }

  @Test
  void noRunOfAMemberShowsWhatAnotherOneShowed() throws IOException {
    Set<String> shown = new TreeSet<>();
    for (int run = 0; run < 200; run++) {
      new Members(path, "BP", "node", 2, TIMEOUT).enter();
      shown.add(new String(Files.readAllBytes(path.resolve("BP/members/node")), StandardCharsets.US_ASCII));
    }
    assertThat(shown).hasSize(200);
  }

  @Test
  void eachHasAsManyKeepersAsAreWantedAndNotItself() throws IOException {
    for (int keepers = 1; keepers <= 3; keepers++) {
      Map<String, Set<String>> found = keepers(members(12, keepers), 0);
      assertThat(found).hasSize(12);
      for (Map.Entry<String, Set<String>> entry : found.entrySet()) {
        assertThat(entry.getValue()).hasSize(keepers).doesNotContain(entry.getKey());
      }
    }
  }

  @Test
  void theWorkIsSpread() throws IOException {
    Map<String, Integer> load = new HashMap<>();
    keepers(members(60, 2), 0).values().forEach(names -> names.forEach(name -> load.merge(name, 1, Integer::sum)));
    assertThat(load.values()).allMatch(count -> count <= 9);
  }

  @Test
  void inASmallClusterOneMemberIsLeftForAnotherCopy() throws IOException {
    assertThat(keepers(members(1, 2), 0)).isEmpty();
    assertThat(keepers(members(2, 2), 0)).hasSize(2).allSatisfy((owner, names) -> assertThat(names).hasSize(1));
    assertThat(keepers(members(3, 2), 0)).hasSize(3).allSatisfy((owner, names) -> assertThat(names).hasSize(1));
  }

  @Test
  void othersTakeThePlaceOfThoseThatAreGoneAndGiveItBack() throws IOException {
    List<Members> all = members(9, 2);
    Map<String, Set<String>> before = keepers(all, 0);
    Set<String> gone = before.get("node-0");
    List<Members> left = new ArrayList<>(all);
    gone.forEach(name -> left.set(Integer.parseInt(name.substring(5)), null));
    assertThat(keepers(left, TIMEOUT).get("node-0")).as("they may only be slow").isNull();
    Map<String, Set<String>> after = keepers(left, TIMEOUT + 1);
    assertThat(after.get("node-0")).hasSize(2).doesNotContainAnyElementsOf(gone);
    assertThat(after.keySet()).as("those that are gone have keepers, too").containsAll(gone);
    assertThat(keepers(all, TIMEOUT + 2)).as("they are back").isEqualTo(before);
  }

  @Test
  void aNewMemberChangesLittle() throws IOException {
    Map<String, Set<String>> before = keepers(members(20, 2), 0);
    Map<String, Set<String>> after = keepers(members(21, 2), 0);
    int changed = 0;
    for (Map.Entry<String, Set<String>> entry : before.entrySet()) {
      Set<String> now = after.get(entry.getKey());
      changed += now.equals(entry.getValue()) ? 0 : 1;
      assertThat(now).containsAnyElementsOf(entry.getValue());
    }
    assertThat(changed).isLessThan(10);
  }

  @Test
  void weightsOrderTheSameEverywhere() {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      names.add("m" + i);
    }
    names.sort(Comparator.comparingLong(name -> Members.weight("owner", name)));
    assertThat(names).hasSize(5).doesNotHaveDuplicates();
    assertThat(Members.weight("a", "b")).isNotNegative().isNotEqualTo(Members.weight("b", "a"));
  }
}
