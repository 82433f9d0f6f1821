# shellcheck shell=bash
# Finding a JDK 8, or making a private one out of Debian's archive. Sourced by ci/prepare.

# is_jdk8 DIR: DIR is a complete JDK (java and javac) of version 8 that starts.
is_jdk8() {
    [ -x "$1/bin/javac" ] && "$1/bin/java" -version 2>&1 | grep -q '"1\.8\.0'
}

# find_jdk8: prints the first JDK 8 among what the user named, what we made, what the system has. 1 if there is none.
find_jdk8() {
    local dir
    for dir in "${HOWDAH_JDK8:-}" "${JAVA_HOME:-}" "$HOWDAH_CACHE/jdk8" /usr/lib/jvm/*1.8* /usr/lib/jvm/*-8-*; do
        if [ -n "$dir" ] && is_jdk8 "$dir"; then
            echo "$dir"
            return 0
        fi
    done
    return 1
}

# debian_mirror: the archive that this machine's own apt is set up with.
debian_mirror() {
    # shellcheck disable=SC2016 # the fields are apt's, not the shell's
    apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
        awk -F'|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }'
}

# make_private_jdk8 DEST [ARCHITECTURE]: Debian's OpenJDK 8 (its unstable suite keeps it) with its own C library beside it, so that it
# runs on a system whose own is older. The prefix is written into the binaries: to move it, make it again.
make_private_jdk8() ( # a shell of its own: its end removes what was downloaded, whatever the caller's traps are
    dest=$1 arch=${2:-$(dpkg --print-architecture)} mirror=$(debian_mirror)
    [ -n "$mirror" ] || die "no Debian archive in this machine's apt sources" \
        "install a JDK 8 yourself and set HOWDAH_JDK8 to its folder"
    work=$(mktemp -d "${TMPDIR:-/tmp}/howdah-jdk8.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    download_jdk8 "$work" "$mirror" "$arch" || die "Debian's OpenJDK 8 for $arch could not be had from $mirror" \
        "see apt's words above; or install a JDK 8 yourself and set HOWDAH_JDK8 to its folder"
    unpack_jdk8 "$work" "$dest.new" "$arch"
    rm -rf "$dest"
    # Binaries name the final prefix, not the one they were unpacked in.
    relink_jdk8 "$dest.new" "$dest"
    mv "$dest.new" "$dest"
    [ "$arch" != "$(dpkg --print-architecture)" ] || is_jdk8 "$dest" || die "the private JDK 8 in $dest does not start" \
        "see: $dest/bin/java -version; or set HOWDAH_JDK8 to a JDK 8 of your own"
)

download_jdk8() { download_sid "$@" openjdk-8-jre-headless openjdk-8-jdk-headless libc6 zlib1g libgcc-s1 libstdc++6; }

# download_sid FOLDER MIRROR ARCHITECTURE PACKAGE...: archives of Debian's unstable suite into FOLDER/debs, and into the cache.
download_sid() {
    local work=$1 mirror=$2 arch=$3 options keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$work"/{lists/partial,archives/partial,debs,jdk,libs} "$HOWDAH_CACHE/debs"
    echo "deb [signed-by=$keyring] $mirror sid main" >"$work/sources.list"
    # A mirror may lag behind: the signature is checked, the date is not.
    options=(-qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o Acquire::Languages=none
        -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root -o "APT::Architecture=$arch" -o "APT::Architectures=$arch")
    apt-get "${options[@]}" update &&
        (cd "$work/debs" && apt-get "${options[@]}" download "${@:4}") || return
    # The suite moves on and keeps one version; the archives that this JDK was made of are kept.
    cp -f "$work"/debs/*.deb "$HOWDAH_CACHE/debs/"
}

unpack_jdk8() {
    local work=$1 dest=$2 arch=$3 deb link target libs lib
    for deb in "$work"/debs/openjdk*.deb; do dpkg-deb -x "$deb" "$work/jdk"; done
    for deb in "$work"/debs/{libc6,zlib1g,libgcc-s1,libstdc++6}_*.deb; do dpkg-deb -x "$deb" "$work/libs"; done
    rm -rf "$dest"
    mkdir -p "$(dirname "$dest")"
    cp -a "$work/jdk/usr/lib/jvm/java-8-openjdk-$arch" "$dest"
    rm -f "$dest/docs" "$dest/src.zip"
    # Configuration that Debian keeps under /etc comes along; the trust store stays the system's.
    find "$dest" -type l -lname '/etc/java-8-openjdk/*' | while read -r link; do
        target=$(readlink "$link")
        rm "$link"
        cp -a "$work/jdk$target" "$link"
    done
    mkdir "$dest/sysroot"
    libs=$(echo "$work"/libs/usr/lib/*-linux-gnu*)
    for lib in c m dl pthread rt resolv util nss_files nss_dns anl z gcc_s stdc++; do
        cp -aL "$libs/lib$lib".so.[0-9]* "$dest/sysroot/"
    done
    cp -aL "$libs"/ld*.so.[0-9]* "$dest/sysroot/"
}

relink_jdk8() {
    local tree=$1 prefix=$2 file loader rpath
    loader=$prefix/sysroot/$(basename "$tree"/sysroot/ld*.so.[0-9]*)
    find "$tree" -path "$tree/sysroot" -prune -o -type f \( -perm -u+x -o -name '*.so' \) -print | while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
        rpath=$(patchelf --print-rpath "$file")
        case $rpath in */sysroot) rpath='' ;; */sysroot:*) rpath=${rpath#*/sysroot:} ;; esac # it was another tree's before
        patchelf --force-rpath --set-rpath "$prefix/sysroot${rpath:+:$rpath}" "$file"
        if patchelf --print-interpreter "$file" >/dev/null 2>&1; then
            patchelf --set-interpreter "$loader" "$file"
        fi
    done
}

# sysroot_with_symbols JDK FOLDER: a copy of the private JDK's C library with its debugging symbols, which valgrind wants of a loader.
# Fails if the suite has moved on to another version and the cache has not that one.
sysroot_with_symbols() (
    to=$2 work=$(mktemp -d "${TMPDIR:-/tmp}/howdah-symbols.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cp -R "$1/sysroot" "$to" && mkdir "$to/.debug" && loader=$(echo "$to"/ld*.so.[0-9]*) || return
    id=$(readelf -n "$loader" | sed -n 's/.*Build ID: //p')
    unpack_symbols() {
        local deb
        for deb in "$HOWDAH_CACHE"/debs/libc6-dbg_*_"$(dpkg --print-architecture)".deb; do
            [ -e "$deb" ] && dpkg-deb -x "$deb" "$work/symbols" || return
        done
        [ -e "$work/symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]
    }
    unpack_symbols || { download_sid "$work" "$(debian_mirror)" "$(dpkg --print-architecture)" libc6-dbg && unpack_symbols; } || return
    cp "$work"/symbols/usr/lib/debug/.build-id/*/*.debug "$to/.debug/"
)
