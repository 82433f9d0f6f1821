#!/usr/bin/env bash
# slaves.sh [--config DIR] COMMAND...: runs COMMAND over ssh on every host of HADOOP_SLAVES (default: etc/hadoop/slaves).
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

begin "$@"
[ ${#REST[@]} -gt 0 ] || die "a command is needed" "usage: slaves.sh [--config DIR] COMMAND..."
on_slaves "${REST[@]}"
