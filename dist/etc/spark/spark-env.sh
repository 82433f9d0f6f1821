# shellcheck shell=bash
# Read by Spark's commands before they start Java. What it sets is exported. Nothing needs to be set.

# HADOOP_CONF_DIR=/etc/hadoop/conf     # default: etc/hadoop of this tree
# SPARK_LOCAL_IP=127.0.0.1             # the address to bind to
# SPARK_LOCAL_DIRS=/scratch/spark      # for shuffle files
# PYSPARK_PYTHON=python3

# Standalone daemons:
# SPARK_MASTER_HOST=master.example.org
# SPARK_WORKER_CORES=16
# SPARK_WORKER_MEMORY=64g
# SPARK_DAEMON_MEMORY=1g
# SPARK_LOG_DIR=/var/log/spark
# SPARK_PID_DIR=/run/spark
