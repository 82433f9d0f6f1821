/** For hosts that have Hadoop's Configuration. */
package io.howdah.upgrade.hadoop;
