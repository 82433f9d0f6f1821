/** For servers on Netty 3, such as MapReduce's ShuffleHandler. */
package io.howdah.upgrade.netty3;
