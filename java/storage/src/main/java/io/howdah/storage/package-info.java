/** Storage modes of HDFS: what NameNode and DataNodes of a mode share. */
package io.howdah.storage;
