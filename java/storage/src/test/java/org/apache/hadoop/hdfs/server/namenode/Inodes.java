package org.apache.hadoop.hdfs.server.namenode;

import java.io.IOException;
import java.util.Collections;

/** Files of a NameNode, for tests. */
public final class Inodes {
  private Inodes() {
  }

  /** What is done while a file is gone. */
  public interface Step {
    /** Does it. */
    void run() throws IOException;
  }

  /** Does something while the NameNode has no such file, and its blocks still: between the deletions of both. */
  public static void without(FSNamesystem names, String file, Step step) throws IOException {
    FSDirectory directory = names.getFSDirectory();
    names.writeLock();
    directory.writeLock();
    try {
      INode inode = directory.getINode(file);
      directory.removeFromInodeMap(Collections.singletonList(inode));
      try {
        step.run();
      } finally {
        directory.addToInodeMap(inode);
      }
    } finally {
      directory.writeUnlock();
      names.writeUnlock();
    }
  }
}
