package io.howdah.bench.mapreduce;

import java.io.IOException;
import java.util.Arrays;
import java.util.StringTokenizer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Jobs whose map output is larger than their input: the words of a text counted without a combiner, and an inverted
 * index of a text. Usage: {@code count|index INPUT OUTPUT}, after Hadoop's generic options.
 */
public final class Words extends Configured implements Tool {
  private Words() {
  }

  /** Runs a job and exits with its status. */
  public static void main(String[] arguments) throws Exception {
    System.exit(run(new Configuration(), arguments));
  }

  /** Runs a job. @return 0 if it succeeded */
  static int run(Configuration conf, String[] arguments) throws Exception {
    return ToolRunner.run(conf, new Words(), arguments);
  }

  @Override
  public int run(String[] arguments) throws IOException, InterruptedException, ClassNotFoundException {
    if (arguments.length != 3 || !arguments[0].matches("count|index")) {
      System.err.println("usage: Words [-D NAME=VALUE]... count|index INPUT OUTPUT");
      return 2;
    }
    boolean index = arguments[0].equals("index");
    Job job = Job.getInstance(getConf(), "words: " + arguments[0]);
    job.setJarByClass(Words.class);
    job.setMapperClass(index ? Positions.class : Ones.class);
    job.setReducerClass(index ? Postings.class : Sums.class);
    job.setOutputKeyClass(Text.class);
    job.setMapOutputValueClass(LongWritable.class);
    job.setOutputValueClass(Text.class);
    FileInputFormat.addInputPath(job, new Path(arguments[1]));
    FileOutputFormat.setOutputPath(job, new Path(arguments[2]));
    return job.waitForCompletion(true) ? 0 : 1;
  }

  /** Each word, with 1. */
  public static class Ones extends Mapper<LongWritable, Text, Text, LongWritable> {
    private final Text word = new Text();
    private final LongWritable value = new LongWritable();

    /** The value of a word. @param position of its line in the file */
    long value(long position) {
      return 1;
    }

    @Override
    protected void map(LongWritable position, Text line, Context context) throws IOException, InterruptedException {
      value.set(value(position.get()));
      for (StringTokenizer words = new StringTokenizer(line.toString()); words.hasMoreTokens();) {
        word.set(words.nextToken());
        context.write(word, value);
      }
    }
  }

  /** Each word, with the position of its line. */
  public static final class Positions extends Ones {
    @Override
    long value(long position) {
      return position;
    }
  }

  /** How often a word is there. */
  public static final class Sums extends Reducer<Text, LongWritable, Text, Text> {
    @Override
    protected void reduce(Text word, Iterable<LongWritable> values, Context context)
        throws IOException, InterruptedException {
      long sum = 0;
      for (LongWritable value : values) {
        sum += value.get();
      }
      context.write(word, new Text(Long.toString(sum)));
    }
  }

  /** The positions of a word, sorted. */
  public static final class Postings extends Reducer<Text, LongWritable, Text, Text> {
    private long[] positions = new long[1024];

    @Override
    protected void reduce(Text word, Iterable<LongWritable> values, Context context)
        throws IOException, InterruptedException {
      int count = 0;
      for (LongWritable value : values) {
        if (count == positions.length) {
          positions = Arrays.copyOf(positions, 2 * count);
        }
        positions[count++] = value.get();
      }
      Arrays.sort(positions, 0, count);
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < count; i++) {
        text.append(i == 0 ? "" : " ").append(positions[i]);
      }
      context.write(word, new Text(text.toString()));
    }
  }
}
