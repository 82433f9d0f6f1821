package io.howdah.mapreduce;

import java.io.IOException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.v2.jobhistory.JHAdminConfig;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobHistoryUtils;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.util.GenericOptionsParser;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * The job history server of MapReduce, started when HDFS answers. Upstream's waits for a NameNode whose port is closed
 * and for one in safe mode, but ends when it meets one whose port is open and which is not done with starting.
 */
public final class JobHistoryServer {
  private static final Log LOG = LogFactory.getLog(JobHistoryServer.class);

  private JobHistoryServer() {}

  /**
   * Waits, then runs upstream's server with the same arguments. The wait ends after
   * mapreduce.jobhistory.maximum-start-wait-time-millis (default -1: never), as upstream's own does.
   */
  public static void main(String[] args) throws InterruptedException {
    try {
      Configuration conf = new YarnConfiguration(new JobConf());
      new GenericOptionsParser(conf, args);
      String address = conf.get(JHAdminConfig.MR_HISTORY_ADDRESS, JHAdminConfig.DEFAULT_MR_HISTORY_ADDRESS);
      SecurityUtil.login(conf, JHAdminConfig.MR_HISTORY_KEYTAB, JHAdminConfig.MR_HISTORY_PRINCIPAL,
          NetUtils.createSocketAddr(address).getHostName());
      long limitMs = conf.getLong(JHAdminConfig.MR_HISTORY_MAX_START_WAIT_TIME,
          JHAdminConfig.DEFAULT_MR_HISTORY_MAX_START_WAIT_TIME);
      new FileSystemWait(conf, JobHistoryUtils.getConfiguredHistoryServerDoneDirPrefix(conf), LOG::warn).await(limitMs);
    } catch (IOException | RuntimeException e) {
      // The server meets the same next, and ends by it as ever.
      LOG.warn("It can't be told whether HDFS is ready: " + e);
    }
    org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer.main(args);
  }
}
