#!/usr/bin/env bash
# Lays out the files of all packages of this component below --prefix; shared by rpm and deb.
#   install_hadoop.sh --build-dir=DIR --prefix=DIR --services=DIR
# --services gets the daemons' units, SysV scripts and settings, named by package: where they go is the format's affair.
set -euo pipefail

for option in "$@"; do
    case $option in
        --build-dir=*) build=${option#*=} ;;
        --prefix=*) prefix=${option#*=} ;;
        --services=*) services=${option#*=} ;;
        *) echo "install_hadoop.sh: unknown option $option" >&2; exit 2 ;;
    esac
done
extra=$(dirname -- "${BASH_SOURCE[0]}")
home=$prefix/usr/lib/howdah

mkdir -p "$home/etc" "$prefix"/usr/{bin,share/man/man1} "$prefix/etc/hadoop"
cp -R "$build"/{bin,sbin,libexec,share} "$home/"
for command in hadoop hdfs yarn mapred; do ln -s ../lib/howdah/bin/$command "$prefix/usr/bin/$command"; done
for page in "$build"/man/*.1; do install -m 644 "$page" "$prefix/usr/share/man/man1/"; done

# Which configuration is /etc/hadoop/conf is for update-alternatives to say.
ln -s /etc/hadoop/conf "$home/etc/hadoop"
cp -R "$build/etc/hadoop" "$prefix/etc/hadoop/conf.dist"
# The template pseudo over the default one: written when the source was packed.
cp -R "$build/packaging/pseudo" "$prefix/etc/hadoop/conf.pseudo"
# Logs not below the tree, which only root writes to; services have the same folders in their units. A client beside a DataNode
# reads the block's file: the DataNode's unit and script make the folder of the socket.
for conf in dist pseudo; do
    sed -i '/^<\/configuration>/d' "$prefix/etc/hadoop/conf.$conf/hdfs-site.xml"
    cat >>"$prefix/etc/hadoop/conf.$conf/hdfs-site.xml" <<'TEXT'
  <!-- A client on a DataNode's host reads the block's file itself. Its service makes the folder of the socket. -->
  <property>
    <name>dfs.client.read.shortcircuit</name>
    <value>true</value>
  </property>
  <property>
    <name>dfs.domain.socket.path</name>
    <value>/run/howdah-hadoop-datanode/dn._PORT</value>
  </property>
</configuration>
TEXT
    cat >>"$prefix/etc/hadoop/conf.$conf/hadoop-env.sh" <<'TEXT'

# Logs of what the accounts hdfs, yarn and mapred start by hand.
export HADOOP_LOG_DIR=${HADOOP_LOG_DIR:-/var/log/hadoop-$(id -un 2>/dev/null || true)}
TEXT
done
install -m 755 "$extra/howdah-pseudo" "$home/libexec/howdah-pseudo"

mkdir -p "$prefix/usr/share/doc/howdah"
cp -R "$build/packaging/html" "$prefix/usr/share/doc/howdah/html"

# Daemons, and what they write.
bash "$build/packaging/make-services" "$extra/services.list" "$services"
for user in hdfs yarn mapred; do mkdir -p "$prefix/var/lib/hadoop-$user" "$prefix/var/log/hadoop-$user"; done
