#!/usr/bin/env bash
# Lays out the files of the package below --prefix; shared by rpm and deb.
#   install_slurm_pbs.sh --build-dir=DIR --prefix=DIR
set -euo pipefail

for option in "$@"; do
    case $option in
        --build-dir=*) build=${option#*=} ;;
        --prefix=*) prefix=${option#*=} ;;
        *) echo "install_slurm_pbs.sh: unknown option $option" >&2; exit 2 ;;
    esac
done

mkdir -p "$prefix/usr/lib/howdah"
cp -R "$build"/share "$build"/libexec "$prefix/usr/lib/howdah/"
