/** For servers with selectors of java.nio. */
package io.howdah.upgrade.nio;
