package io.howdah.bench.rpc;

import java.util.Collections;
import java.util.List;

/** What is to be measured, and how long. Defaults are those of the command line. */
final class RpcPlan {
  /**
   * A young generation grows after some collections, into memory that nobody has touched yet. In a virtual machine that
   * costs up to half a millisecond each 64 KB, in the middle of a measurement, at a time that depends on how much a
   * side allocates; so all of the heap is touched before.
   */
  static final String JVM_OPTIONS = "-Xms1g -Xmx1g -XX:+AlwaysPreTouch";

  /** Bytes that the calls of one size move one way, at most: beyond that there are fewer calls. */
  static final long MOST_BYTES = 1L << 30;
  private static final int LEAST_CALLS = 64;

  DataType type = DataType.PROTOBUF;
  int iterations = 20000;
  int rounds = 5;
  List<Integer> sizes = Collections.emptyList();
  List<Integer> loadSizes = Collections.emptyList();
  List<Integer> clients = Collections.emptyList();
  List<Integer> handlers = Collections.emptyList();
  List<DataType> types = Collections.emptyList();
  int typeSize = 512;
  double settleSeconds = 5;
  double warmSeconds = 1;
  double seconds = 2;
  int processes = 1;
  String address = "127.0.0.1";
  /** HOST:PORT of a server that runs already; null for one of ours. */
  String remote;
  String jvmOptions = JVM_OPTIONS;
  /** Cases to profile, as in {@link RpcRounds}; null for none. */
  boolean profile;

  /** Calls of a size in a round, the half that warms up included. */
  int iterations(int size) {
    long fit = Math.min(iterations, MOST_BYTES / Math.max(1, size));
    return (int) Math.max(Math.min(iterations, LEAST_CALLS), fit);
  }
}
