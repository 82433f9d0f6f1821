package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class TemplateValuesTest {
  private static final Collection<String> ASKED = Arrays.asList("folders", "hdfs", "namenode", "shared", "yarn");

  private static void taken(String name, String value) {
    assertThatCode(() -> TemplateValues.check(Collections.singletonMap(name, value), ASKED)).as(value)
        .doesNotThrowAnyException();
  }

  private static void refused(String name, String value, String message) {
    assertThatThrownBy(() -> TemplateValues.check(Collections.singletonMap(name, value), ASKED)).as(value)
        .isInstanceOf(ClusterException.class).hasMessage(message);
  }

  @Test
  void whatFitsIsTaken() {
    taken("namenode", "nn");
    taken("shared", "/lustre");
    taken("hdfs", "${local}/h");
    taken("folders", "${howdah.data}");
    taken("folders", "[RAM_DISK]/dev/shm/h,[ssd_disk]/ssd/h, [ARCHIVE]file:///a,/disk/h");
    taken("folders", "[RAM_DISK]/dev/shm/h,${local}/h");
  }

  @Test
  void unknownNamesAreRefusedWithTheNearest() {
    refused("folder", "/x", "no template asks for --set folder; the nearest name is folders");
    refused("namenod", "x", "no template asks for --set namenod; the nearest name is namenode");
  }

  @Test
  void valuesThatDoNotFitAreRefused() {
    refused("folders", "", "--set folders= is empty");
    refused("namenode", " ", "--set namenode= is empty");
    refused("folders", "[RAM_DISK]/dev/shm/h",
        "--set folders=[RAM_DISK]/dev/shm/h has folders in RAM alone, and a DataNode needs one that is not");
    refused("folders", "[RAM]/dev/shm/h,/d", "--set folders=[RAM]/dev/shm/h,/d: [RAM] is no type of storage");
    refused("folders", "[DISK]", "--set folders=[DISK]: '' is not an absolute path");
    refused("folders", "/d,", "--set folders=/d,: '' is not an absolute path");
    refused("shared", "file:///x", "--set shared=file:///x: 'file:///x' is not an absolute path");
    refused("shared", "lustre/hdfs", "--set shared=lustre/hdfs: 'lustre/hdfs' is not an absolute path");
  }
}
