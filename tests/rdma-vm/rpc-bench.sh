#!/usr/bin/env bash
# howdah bench rpc over the device of the virtual machine, with few calls: an emulated processor runs a JVM slowly.
#   ci/rdma-vm run --time 1500 --memory 3G -- tests/rdma-vm/rpc-bench.sh TREE verbs|udapl
# Ends with 0 when every case came to its end and went over the transport; its figures say nothing.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

tree=$1 transport=$2
unset HADOOP_CONF_DIR HADOOP_HOME SPARK_HOME HADOOP_CLASSPATH
# The cheap compiler alone: the better one would spend on compiling what so few calls never bring back. The benchmark's own
# JVM as well: with two compilers code is replaced all the time, by way of a jump to itself (HotSpot's patch_verified_entry),
# and QEMU 7.2 may run a translation of that jump for ever when its other processor writes the final one meanwhile.
export HOWDAH_OPTS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1'
"$tree/bin/howdah" bench rpc --transport "$transport" --address "$HOWDAH_VM_ADDRESS" --rounds 1 --iterations 100 \
    --sizes 1,4k,64k,1m --types protobuf,bytes --clients 1,8 --handlers 4 --warm-up 1 --seconds 5 \
    --jvm-options '-Xms64m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1'
echo "RPC over $transport: every case came to its end"
