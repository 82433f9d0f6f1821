package io.howdah.cluster;

import java.util.Objects;

/** One daemon of a cluster: its kind and, where there may be several, its number from 1. Immutable. */
final class DaemonId {
  private final DaemonKind kind;
  private final int number;

  DaemonId(DaemonKind kind, int number) {
    this.kind = kind;
    this.number = number;
  }

  static DaemonId of(DaemonKind kind) {
    return new DaemonId(kind, 1);
  }

  DaemonKind kind() {
    return kind;
  }

  int number() {
    return number;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DaemonId && ((DaemonId) other).kind == kind && ((DaemonId) other).number == number;
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, number);
  }

  /** "namenode", "datanode-2": the name in files, messages and on the command line. */
  @Override
  public String toString() {
    return kind.numbered() ? kind.label() + "-" + number : kind.label();
  }
}
