package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.BlockIds;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanInfo;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage.State;

/**
 * The replicas of a DataNode in JMX: attribute {@code blk_N} is what is known of that block's, so {@code
 * /jmx?get=...::blk_N} of the web server tells it. It is not listed, as there may be millions. Thread-safe.
 */
final class BlocksMBean implements DynamicMBean {
  private static final Pattern BLOCK = Pattern.compile("blk_(" + BlockIds.REGEX + ")");
  /** The attribute that names the blocks of which a power failure would lose the replica. */
  private static final String UNPERSISTED = "unpersisted";
  /** With names of blocks after it, commas between: those of them that a power failure would leave. */
  private static final String PERSISTED = "persisted:";

  private final TierDataset dataset;

  BlocksMBean(TierDataset dataset) {
    this.dataset = dataset;
  }

  /**
   * For each block pool that has the block: a line with state, type of storage and whether there is a copy in RAM, a
   * shadow or a copy on the shared path; one with the DataNode whose copy it serves, if that is another one; then its
   * events.
   *
   * @return the lines; empty if there is no such replica
   */
  @Override
  public Object getAttribute(String name) throws AttributeNotFoundException {
    if (name.equals(UNPERSISTED)) {
      return unpersisted();
    }
    if (name.startsWith(PERSISTED)) {
      return persisted(name.substring(PERSISTED.length()).split(","));
    }
    List<String> lines = new ArrayList<>();
    long id = id(name);
    for (String pool : dataset.volumeMap.getBlockPoolList()) {
      ReplicaInfo replica = dataset.volumeMap.get(pool, id);
      if (replica != null) {
        ExtendedBlockId block = new ExtendedBlockId(id, pool);
        lines.add(pool + "\t" + replica.getState() + "\t" + replica.getVolume().getStorageType() + "\t"
            + (dataset.copies().has(block) ? "copy-in-ram"
                : dataset.shadows().folder(pool, replica) != null ? "shadow"
                : dataset.shared() != null && dataset.shared().has(pool, id) ? "shared" : "-"));
        String owner = owner(pool, replica);
        if (owner != null) {
          lines.add("serves\t" + owner);
        }
        for (BlockEvent event : dataset.journal().of(block)) {
          lines.add(event.toString());
        }
      }
    }
    return lines.toArray(new String[0]);
  }

  /** The uuid of the DataNode whose copy on the shared path a replica is; null if it is this DataNode's own. */
  private String owner(String pool, ReplicaInfo replica) {
    boolean isKept = ((TierVolume) replica.getVolume()).toDatanodeStorage().getState() == State.READ_ONLY_SHARED;
    return isKept ? dataset.keepers().owner(pool, replica.getBlockId()) : null;
  }

  private static long id(String name) throws AttributeNotFoundException {
    Matcher block = BLOCK.matcher(name);
    Long id = block.matches() ? BlockIds.parse(block.group(1)) : null;
    if (id == null) {
      throw new AttributeNotFoundException(name);
    }
    return id;
  }

  private String[] persisted(String[] asked) throws AttributeNotFoundException {
    List<String> names = new ArrayList<>();
    for (String name : asked) {
      long id = id(name);
      for (String pool : dataset.volumeMap.getBlockPoolList()) {
        ReplicaInfo replica = dataset.volumeMap.get(pool, id);
        if (replica != null && replica.getState() != ReplicaState.TEMPORARY
            && dataset.shadows().isPersistent(pool, replica)) {
          names.add(name);
        }
      }
    }
    return names.toArray(new String[0]);
  }

  private String[] unpersisted() {
    List<String> names = new ArrayList<>();
    for (String pool : dataset.volumeMap.getBlockPoolList()) {
      dataset.shadows().unpersisted(pool).forEach(replica -> names.add(replica.getBlockName()));
    }
    return names.toArray(new String[0]);
  }

  @Override
  public AttributeList getAttributes(String[] names) {
    AttributeList found = new AttributeList();
    for (String name : names) {
      try {
        found.add(new Attribute(name, getAttribute(name)));
      } catch (AttributeNotFoundException e) {
        continue; // as the interface has it: those that are there
      }
    }
    return found;
  }

  @Override
  public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
    throw new AttributeNotFoundException(attribute.getName() + " cannot be set");
  }

  @Override
  public AttributeList setAttributes(AttributeList attributes) {
    return new AttributeList();
  }

  @Override
  public Object invoke(String name, Object[] arguments, String[] signature) {
    throw new UnsupportedOperationException(name);
  }

  @Override
  public MBeanInfo getMBeanInfo() {
    return new MBeanInfo(BlocksMBean.class.getName(), "replicas, by the name of the block", null, null, null, null);
  }
}
