#!/usr/bin/env bash
# Lays out the files of all packages of this component below --prefix; shared by rpm and deb.
#   install_howdah.sh --build-dir=DIR --prefix=DIR --libdir=lib64|lib/TRIPLET
set -euo pipefail

for option in "$@"; do
    case $option in
        --build-dir=*) build=${option#*=} ;;
        --prefix=*) prefix=${option#*=} ;;
        --libdir=*) libdir=${option#*=} ;;
        *) echo "install_howdah.sh: unknown option $option" >&2; exit 2 ;;
    esac
done
extra=$(dirname -- "${BASH_SOURCE[0]}")
home=$prefix/usr/lib/howdah

mkdir -p "$home/libexec/native" "$home/lib/native" "$prefix"/usr/{bin,share/man/man1} "$prefix/etc/security/limits.d"
cp -R "$build"/tree/{bin,libexec,NOTICE,RELEASE} "$home/"
ln -s ../lib/howdah/bin/howdah "$prefix/usr/bin/howdah"

# The libraries are for everybody; tools, the Java binding and Hadoop's native library are for the tree. libhdfs lies in the tree,
# as it finds Hadoop there by its own place.
DESTDIR=$PWD/stage cmake --install "$build/build" >/dev/null
mkdir -p "$prefix/usr/$libdir"
mv stage/usr/bin/* "$home/libexec/native/"
mv stage/usr/"$libdir"/{libhowdah_jni,libhadoop}.so stage/usr/"$libdir"/libhdfs.so* "$home/lib/native/"
mv stage/usr/"$libdir"/* "$prefix/usr/$libdir/"
for name in libhdfs.so libhdfs.so.0.0.0; do
    ln -s "$(realpath -m --relative-to="$prefix/usr/$libdir" "$home/lib/native/libhdfs.so.0.0.0")" "$prefix/usr/$libdir/$name"
done
mv stage/usr/include "$prefix/usr/"
install -D -m 644 "$build/native/hdfs/libhdfs.3" "$prefix/usr/share/man/man3/libhdfs.3"
rm -rf stage

install -m 755 "$build/packaging/account" "$home/libexec/account"
install -m 644 "$extra/howdah-limits.conf" "$prefix/etc/security/limits.d/howdah.conf"
install -D -m 644 "$build/tree/etc/bash_completion.d/howdah" "$prefix/usr/share/bash-completion/completions/howdah"
for page in "$build"/man/*.1; do install -m 644 "$page" "$prefix/usr/share/man/man1/"; done
