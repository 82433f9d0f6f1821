package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How lfs is called, with a stand-in for it. */
class StripesTest {
  private static final long MINUTES = 300_000;

  @TempDir
  private Path folder;

  /** A PATH with an lfs that notes its arguments and then does something. */
  private String path(String more) throws IOException {
    Path bin = Files.createDirectories(folder.resolve("bin"));
    Path lfs = bin.resolve("lfs");
    Files.write(lfs, ("#!/bin/sh\necho \"$*\" >>" + calls() + "\n" + more + "\n").getBytes(StandardCharsets.UTF_8));
    Files.setPosixFilePermissions(lfs, PosixFilePermissions.fromString("rwxr-xr-x"));
    return folder.resolve("none") + "::" + bin;
  }

  private Path calls() {
    return folder.resolve("calls");
  }

  private Stripes stripes(String... settings) throws IOException {
    Configuration conf = new Configuration(false);
    conf.set("dfs.rdma.lustre.path", "/lustre");
    conf.setLong("dfs.rdma.lustre.timeout", MINUTES);
    for (String setting : settings) {
      conf.set(setting.split("=")[0], setting.split("=")[1]);
    }
    return new Stripes(SharedSettings.of(conf));
  }

  @Test
  void lfsIsCalledWithWhatIsSet() throws IOException {
    String path = path("");
    stripes().set(folder, "lustre", path);
    stripes("dfs.rdma.lustre.stripe.count=4", "dfs.rdma.lustre.stripe.size=16m").set(folder, "lustre", path);
    stripes("dfs.rdma.lustre.stripe.count=0", "dfs.rdma.lustre.stripe.size=64k").set(folder, "lustre", path);
    assertThat(calls()).hasContent("setstripe -c 1 " + folder + "\nsetstripe -c 4 -S 16777216 " + folder
        + "\nsetstripe -S 65536 " + folder);
  }

  @Test
  void lfsIsNotCalledElsewhereOrWhenNothingIsSet() throws IOException {
    String path = path("");
    stripes().set(folder, "nfs4", path);
    stripes("dfs.rdma.lustre.stripe.count=0").set(folder, "lustre", path);
    stripes().set(folder);
    assertThat(calls()).doesNotExist();
  }

  @Test
  void whatFailsIsSaid() throws IOException {
    String failing = path("echo 'error: setstripe: no such pool' >&2; exit 95");
    assertThatThrownBy(() -> stripes().set(folder, "lustre", failing))
        .hasMessageContaining("setstripe -c 1").hasMessageContaining("ended with 95: error: setstripe: no such pool");
    String without = folder.toString();
    assertThatThrownBy(() -> stripes().set(folder, "lustre", without)).hasMessageContaining("not on the PATH");
    assertThatThrownBy(() -> stripes().set(folder, "lustre", null)).hasMessageContaining("not on the PATH");
    String hanging = path("exec sleep 600");
    assertThatThrownBy(() -> new Stripes(1, 0, 100).set(folder, "lustre", hanging))
        .hasMessageContaining("did not end within 100 ms");
  }

  @Test
  void aSizeThatLustreDoesNotTakeIsRefused() {
    assertThatThrownBy(() -> stripes("dfs.rdma.lustre.stripe.size=100k"))
        .hasMessageContaining("dfs.rdma.lustre.stripe.size=102400 is not a multiple of 65536");
  }
}
