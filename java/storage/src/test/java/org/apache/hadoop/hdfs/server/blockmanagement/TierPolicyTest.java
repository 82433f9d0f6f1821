package org.apache.hadoop.hdfs.server.blockmanagement;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.TierSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.junit.jupiter.api.Test;

/** Types that a block's replicas go to, and those that it has too many of. */
class TierPolicyTest {
  private static final BlockStoragePolicy HOT = BlockStoragePolicySuite.createDefaultSuite().getDefaultPolicy();
  private static final TierLevels ALL = levels(100, 100, 100);

  private static TierLevels levels(long ram, long ssd, long disk) {
    TierLevels levels = new TierLevels();
    return levels.add(RAM_DISK, 100, ram).add(SSD, 100, ssd).add(DISK, 100, disk);
  }

  private static TierSettings settings(int memoryReplicas, String... more) throws Exception {
    Configuration conf = new Configuration(false);
    conf.set("dfs.rdma.hhh.mode", "hhh");
    conf.setInt("dfs.rdma.memory.replicas", memoryReplicas);
    conf.setInt("dfs.replication", 50);
    for (int i = 0; i < more.length; i += 2) {
      conf.set(more[i], more[i + 1]);
    }
    return TierSettings.of(conf);
  }

  private static TierPolicy policy(int memoryReplicas, TierLevels levels, String... more) throws Exception {
    return new TierPolicy(HOT, settings(memoryReplicas, more), levels, 10);
  }

  private static List<StorageType> types(TierPolicy policy, int replication) {
    return policy.chooseStorageTypes((short) replication);
  }

  @Test
  void greedyTakesTheFastestWithRoom() throws Exception {
    assertThat(types(policy(1, ALL), 3)).containsExactly(RAM_DISK, SSD, DISK);
    assertThat(types(policy(2, ALL), 3)).containsExactly(RAM_DISK, RAM_DISK, SSD);
    assertThat(types(policy(5, ALL), 3)).containsExactly(RAM_DISK, RAM_DISK, SSD);
    assertThat(types(policy(1, ALL), 1)).containsExactly(SSD);
    assertThat(types(policy(1, ALL), 5)).containsExactly(RAM_DISK, SSD, DISK, DISK, DISK);
    assertThat(types(policy(1, levels(9, 100, 100)), 3)).as("RAM is full").containsExactly(SSD, SSD, DISK);
    assertThat(types(policy(1, levels(9, 9, 100)), 3)).containsExactly(DISK, DISK, DISK);
    assertThat(types(policy(1, levels(100, 100, 9)), 3)).containsExactly(RAM_DISK, SSD, SSD);
    assertThat(types(policy(2, levels(100, 9, 9)), 3)).as("no room")
        .containsExactly(RAM_DISK, RAM_DISK, DISK);
  }

  @Test
  void autoGoesByTheTypesThatThereAre() throws Exception {
    assertThat(types(policy(1, new TierLevels().add(DISK, 100, 100)), 3)).containsExactly(DISK, DISK, DISK);
    assertThat(types(policy(1, new TierLevels().add(SSD, 100, 100)), 2)).containsExactly(SSD, SSD);
    assertThat(policy(1, ALL).isBalanced()).isFalse();
    TierLevels two = new TierLevels().add(SSD, 100, 50).add(DISK, 1000, 900);
    assertThat(policy(1, two).isBalanced()).isTrue();
    assertThat(types(policy(1, two), 3)).as("10 bytes are 10 % of the SSDs, 1 % of the disks")
        .containsExactly(DISK, DISK, DISK);
  }

  @Test
  void balancedLevelsTheTiersByWeight() throws Exception {
    String[] balanced = {"dfs.rdma.placement.policy", "balanced"};
    assertThat(types(policy(1, levels(100, 100, 100), balanced), 3)).containsExactlyInAnyOrder(RAM_DISK, SSD, DISK);
    assertThat(types(policy(1, levels(50, 100, 100), balanced), 4)).containsOnly(SSD, DISK);
    String[] weighted = {"dfs.rdma.placement.policy", "balanced", "dfs.rdma.placement.weights", "1,10,1"};
    assertThat(types(policy(1, levels(50, 100, 100), weighted), 3)).containsExactly(SSD, SSD, SSD);
    assertThat(types(policy(2, levels(100, 50, 50), balanced), 3)).as("never more than wanted").hasSize(3)
        .containsSubsequence(RAM_DISK, RAM_DISK).contains(SSD);
  }

  @Test
  void whatIsMissingIsAddedAndNoMore() throws Exception {
    TierPolicy policy = policy(1, ALL);
    EnumSet<StorageType> none = EnumSet.noneOf(StorageType.class);
    assertThat(policy.chooseStorageTypes((short) 3, Arrays.asList(RAM_DISK, DISK), none, false)).containsExactly(SSD);
    assertThat(policy.chooseStorageTypes((short) 3, Arrays.asList(SSD, DISK), none, false)).containsExactly(RAM_DISK);
    assertThat(policy.chooseStorageTypes((short) 3, Arrays.asList(DISK, DISK), none, false)).as("one moved down")
        .containsExactly(RAM_DISK);
    assertThat(policy.chooseStorageTypes((short) 3, Arrays.asList(RAM_DISK, RAM_DISK), none, false))
        .as("persistent ones first").hasSize(1).containsAnyOf(SSD, DISK);
    assertThat(policy.chooseStorageTypes((short) 3, Collections.emptyList(), EnumSet.of(RAM_DISK), true))
        .containsExactlyInAnyOrder(SSD, SSD, DISK);
    assertThat(policy.chooseStorageTypes((short) 2, Collections.emptyList(), EnumSet.of(SSD, DISK), true))
        .as("persistent ones never fall back to RAM").containsExactly(RAM_DISK);
  }

  @Test
  void excessLeavesWhatIsPromised() throws Exception {
    Random random = new Random(42);
    StorageType[] all = {RAM_DISK, SSD, DISK, ARCHIVE};
    for (int round = 0; round < 20_000; round++) {
      TierSettings settings = settings(1 + random.nextInt(3));
      int replication = 1 + random.nextInt(5);
      List<StorageType> have = new ArrayList<>();
      while (have.size() <= replication + random.nextInt(4)) {
        have.add(all[random.nextInt(all.length)]);
      }
      List<StorageType> left = new ArrayList<>(have);
      List<StorageType> excess = TierExcess.of(settings, have, replication);
      excess.forEach(type -> assertThat(left.remove(type)).as("%s of %s", type, have).isTrue());
      assertThat(left).as("%s of %s", excess, have).hasSize(replication);
      long had = have.stream().filter(TierPolicy::isPersistent).count();
      long kept = left.stream().filter(TierPolicy::isPersistent).count();
      assertThat(kept).as("%s of %s", excess, have)
          .isGreaterThanOrEqualTo(Math.min(had, replication - settings.memoryReplicas(replication)));
      if (have.contains(SSD)) {
        assertThat(left).as("%s of %s", excess, have).contains(SSD);
      }
    }
    TierSettings one = settings(1);
    assertThat(TierExcess.of(one, Arrays.asList(RAM_DISK, SSD, DISK), 2)).containsExactly(DISK);
    assertThat(TierExcess.of(one, Arrays.asList(RAM_DISK, SSD, DISK), 1)).containsExactlyInAnyOrder(RAM_DISK, DISK);
    assertThat(TierExcess.of(one, Arrays.asList(RAM_DISK, RAM_DISK, SSD, DISK), 3)).containsExactly(RAM_DISK);
  }
}
