#!/usr/bin/env bash
# Lays out the files of all packages of this component below --prefix; shared by rpm and deb.
#   install_spark.sh --build-dir=DIR --prefix=DIR --services=DIR
# --services gets the daemons' units, SysV scripts and settings, named by package: where they go is the format's affair.
set -euo pipefail

for option in "$@"; do
    case $option in
        --build-dir=*) build=${option#*=} ;;
        --prefix=*) prefix=${option#*=} ;;
        --services=*) services=${option#*=} ;;
        *) echo "install_spark.sh: unknown option $option" >&2; exit 2 ;;
    esac
done
extra=$(dirname -- "${BASH_SOURCE[0]}")
home=$prefix/usr/lib/howdah

mkdir -p "$home/etc" "$prefix"/usr/{bin,share/man/man1} "$prefix/etc/spark"
# Symbolic links from jars/ into share/ lead to the jars that Spark shares with Hadoop: howdah-hadoop-common has them.
cp -RP "$build"/{bin,sbin,libexec,share,jars,python,examples,data} "$home/"
# Programs that are handed to spark-submit, and data: upstream's archive has some of them executable.
find "$home"/{python,examples,data} -type f -exec chmod a-x {} +
for command in "$home"/bin/*; do ln -s "../lib/howdah/bin/${command##*/}" "$prefix/usr/bin/${command##*/}"; done
for page in "$build"/man/*.1; do install -m 644 "$page" "$prefix/usr/share/man/man1/"; done

ln -s /etc/spark/conf "$home/etc/spark"
ln -s etc/spark "$home/conf"
cp -R "$build/etc/spark" "$prefix/etc/spark/conf.dist"
cat >>"$prefix/etc/spark/conf.dist/spark-defaults.conf" <<'TEXT'

# The history server shows what applications of this host recorded with spark.eventLog.enabled=true. A site with several hosts
# names a folder that all of them see.
spark.eventLog.dir              file:///var/lib/spark/events
spark.history.fs.logDirectory   file:///var/lib/spark/events
TEXT

bash "$build/packaging/make-services" "$extra/services.list" "$services"
mkdir -p "$prefix/var/lib/spark/events" "$prefix/var/log/spark"
