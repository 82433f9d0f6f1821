/** For servers on Netty 3: MapReduce's ShuffleHandler, HBase 1. */
package io.howdah.upgrade.netty3;
