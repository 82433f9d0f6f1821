package io.howdah.cluster;

import java.util.Locale;

/** The kinds of daemon that a local cluster is made of, and how the tree's scripts start each. */
enum DaemonKind {
  NAMENODE("hdfs", "namenode", "HADOOP_NAMENODE_OPTS", 512),
  SECONDARYNAMENODE("hdfs", "secondarynamenode", "HADOOP_SECONDARYNAMENODE_OPTS", 256),
  DATANODE("hdfs", "datanode", "HADOOP_DATANODE_OPTS", 256),
  RESOURCEMANAGER("yarn", "resourcemanager", "YARN_RESOURCEMANAGER_OPTS", 512),
  NODEMANAGER("yarn", "nodemanager", "YARN_NODEMANAGER_OPTS", 256),
  HISTORYSERVER("mapred", "historyserver", "HADOOP_JOB_HISTORYSERVER_OPTS", 256);

  private final String script;
  private final String argument;
  private final String optionsVariable;
  private final int heapMb;

  DaemonKind(String script, String argument, String optionsVariable, int heapMb) {
    this.script = script;
    this.argument = argument;
    this.optionsVariable = optionsVariable;
    this.heapMb = heapMb;
  }

  /** The tree's command that runs it. */
  String script() {
    return script;
  }

  /** That command's argument. */
  String argument() {
    return argument;
  }

  /** The environment variable by which the command takes JVM options for this daemon alone. */
  String optionsVariable() {
    return optionsVariable;
  }

  /** Heap in MB unless the user says otherwise. */
  int heapMb() {
    return heapMb;
  }

  /** Whether a cluster may have several, told apart by a number from 1. */
  boolean numbered() {
    return this == DATANODE || this == NODEMANAGER;
  }

  /** Its name in options, files and messages. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
