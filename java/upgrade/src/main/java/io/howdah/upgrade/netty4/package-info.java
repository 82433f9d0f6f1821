/** For servers on Netty 4. */
package io.howdah.upgrade.netty4;
