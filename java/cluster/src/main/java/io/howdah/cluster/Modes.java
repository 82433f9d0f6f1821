package io.howdah.cluster;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** The names that --mode takes, in any case: ours, and those of the guide. */
final class Modes {
  static final String HHH_L = "hhh-l";
  static final String LUSTRE_LOCAL = "lustre-local";
  static final String LUSTRE_ONLY = "lustre-only";
  /** No mode: HDFS stores blocks as by stock Hadoop. */
  static final String NONE = "none";

  /** Our name by each name in lower case. */
  private static final Map<String, String> NAMES;

  static {
    Map<String, String> names = new LinkedHashMap<>();
    names.put("hhh", "hhh");
    names.put("default", "hhh");
    names.put("hhh-m", "hhh-m");
    names.put("in-memory", "hhh-m");
    names.put(HHH_L, HHH_L);
    names.put("lustre", HHH_L);
    names.put(LUSTRE_LOCAL, LUSTRE_LOCAL);
    names.put(LUSTRE_ONLY, LUSTRE_ONLY);
    names.put(NONE, NONE);
    NAMES = Collections.unmodifiableMap(names);
  }

  private Modes() {
  }

  /**
   * The mode of a name.
   *
   * @return our name of it; null for {@link #NONE}
   * @throws ClusterException if there is no mode of that name in this release
   */
  static String named(String name) {
    String ours = NAMES.get(name.toLowerCase(Locale.ROOT));
    if (ours == null) {
      throw new ClusterException("--mode " + name + ": there is no storage mode of that name in this release",
          "use --mode hhh (Default), hhh-m (In-Memory), hhh-l (Lustre), lustre-local, lustre-only or none");
    }
    return NONE.equals(ours) ? null : ours;
  }

  /** Whether a mode, or none (null), has HDFS. */
  static boolean hasHdfs(String mode) {
    return !LUSTRE_LOCAL.equals(mode) && !LUSTRE_ONLY.equals(mode);
  }

  /** Whether a mode needs a folder that all nodes have. */
  static boolean needsShared(String mode) {
    return HHH_L.equals(mode) || !hasHdfs(mode);
  }
}
