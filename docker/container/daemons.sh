# shellcheck shell=bash
# The daemons that a container may run. Sourced by entrypoint and healthcheck.
# shellcheck disable=SC2034 # for the caller

# find_daemon NAME: the array COMMAND, which runs it in the foreground; PORT, the usual one of its web server, and PAGE, which is there
# when it serves. Fails for a word that is no daemon's.
find_daemon() {
    PAGE='/jmx?get=java.lang:type=Runtime::Uptime'
    case $1 in
        namenode) COMMAND=(hdfs namenode) PORT=50070 ;;
        secondarynamenode) COMMAND=(hdfs secondarynamenode) PORT=50090 ;;
        datanode) COMMAND=(hdfs datanode) PORT=50075 ;;
        journalnode) COMMAND=(hdfs journalnode) PORT=8480 ;;
        resourcemanager) COMMAND=(yarn resourcemanager) PORT=8088 PAGE=/ws/v1/cluster/info ;;
        nodemanager) COMMAND=(yarn nodemanager) PORT=8042 PAGE=/ws/v1/node/info ;;
        historyserver) COMMAND=(mapred historyserver) PORT=19888 PAGE=/ws/v1/history/info ;;
        spark-history) COMMAND=(spark-class org.apache.spark.deploy.history.HistoryServer) PORT=18080 PAGE=/api/v1/applications ;;
        *) return 1 ;;
    esac
}
