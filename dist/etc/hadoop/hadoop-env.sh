# shellcheck shell=bash
# Read by hadoop, hdfs, yarn, mapred and howdah before they start Java. What the environment already says wins where a
# line here uses ${NAME:-...}. Nothing needs to be set; these are what sites set most.

# The JDK 8 to run on; without it one is looked for.
# export JAVA_HOME=${JAVA_HOME:-/usr/lib/jvm/java-8-openjdk-amd64}

# Heap of daemons and clients, megabytes.
# export HADOOP_HEAPSIZE=${HADOOP_HEAPSIZE:-1000}

# JVM options: of everything, of clients, of one daemon (also DATANODE, SECONDARYNAMENODE, JOURNALNODE, ZKFC, BALANCER, MOVER).
# export HADOOP_OPTS="${HADOOP_OPTS:-}"
# export HADOOP_CLIENT_OPTS="-Xmx512m ${HADOOP_CLIENT_OPTS:-}"
# export HADOOP_NAMENODE_OPTS="-Xmx4g ${HADOOP_NAMENODE_OPTS:-}"

# More jars for every class path; HADOOP_USER_CLASSPATH_FIRST=true puts them first.
# export HADOOP_CLASSPATH=${HADOOP_CLASSPATH:-}

# Where daemons log, and where their pid files are.
# export HADOOP_LOG_DIR=${HADOOP_LOG_DIR:-/var/log/hadoop}
# export HADOOP_PID_DIR=${HADOOP_PID_DIR:-/run/hadoop}
