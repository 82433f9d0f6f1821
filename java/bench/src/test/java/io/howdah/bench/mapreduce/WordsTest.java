package io.howdah.bench.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The jobs count and index words. */
class WordsTest {
  @TempDir
  Path folder;

  private String run(String job) throws Exception {
    Path input = folder.resolve("input");
    Files.write(input, "to be\nor not to be\n".getBytes(StandardCharsets.UTF_8));
    Configuration conf = new Configuration();
    conf.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    conf.set("mapreduce.framework.name", "local");
    conf.set("fs.defaultFS", "file:///");
    assertThat(Words.run(conf, new String[] {job, input.toString(), folder.resolve("output").toString()})).isZero();
    return new String(Files.readAllBytes(folder.resolve("output/part-r-00000")), StandardCharsets.UTF_8);
  }

  @Test
  void wordsAreCounted() throws Exception {
    assertThat(run("count")).isEqualTo("be\t2\nnot\t1\nor\t1\nto\t2\n");
  }

  @Test
  void linesOfWordsAreIndexed() throws Exception {
    assertThat(run("index")).isEqualTo("be\t0 6\nnot\t6\nor\t6\nto\t0 6\n");
  }

  @Test
  void otherArgumentsAreRefused() throws Exception {
    assertThat(Words.run(new Configuration(), new String[] {"count"})).isEqualTo(2);
  }
}
