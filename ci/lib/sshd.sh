# shellcheck shell=bash
# An sshd for tests that start daemons over ssh. The system's, where there is one; otherwise Debian's, unpacked into a folder
# that all clones share and not installed: its package would start a service. Made once; a second call asks nobody.
# Sourced by tests, after common.sh's variables are set.

SSHD_CACHE=$HOWDAH_CACHE/sshd

# provide_sshd: prints the path of a program that takes sshd's options; where there can be none, prints why and returns 1.
provide_sshd() {
    PATH=$PATH:/usr/sbin:/sbin command -v sshd && return
    [ "$(id -u)" -eq 0 ] || { echo "sshd is not installed (package openssh-server), and one of the test's own needs root"; return 1; }
    [ -x "$SSHD_CACHE/sshd" ] || unpack_sshd >"$HOWDAH_BUILD/sshd.log" 2>&1 ||
        { echo "sshd is not installed, and apt gave no openssh-server to unpack: see build/sshd.log"; return 1; }
    echo "$SSHD_CACHE/sshd"
}

unpack_sshd() {
    local work=$SSHD_CACHE.new deb
    rm -rf "$work" "$SSHD_CACHE"
    mkdir -p "$work"
    (
        cd "$work"
        apt-get -qq -o APT::Sandbox::User=root download openssh-server libwrap0 ||
            { apt-get -qq update && apt-get -qq -o APT::Sandbox::User=root download openssh-server libwrap0; }
    ) || return 1
    for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work" || return 1; done
    rm "$work"/*.deb
    write_sshd_program >"$work/sshd"
    chmod 755 "$work/sshd"
    LD_LIBRARY_PATH=$(echo "$work"/usr/lib/*-linux-gnu) ldd "$work/usr/sbin/sshd" | grep 'not found' && return 1
    mv "$work" "$SSHD_CACHE"
}

# write_sshd_program: what provide_sshd names. sshd wants an account of its own; where there is none, only sshd and what it
# starts see one, by a mount of their own.
write_sshd_program() {
    cat <<SH
#!/bin/sh
# Made by ci/lib/sshd.sh.
here=$SSHD_CACHE
export LD_LIBRARY_PATH="\$(echo "\$here"/usr/lib/*-linux-gnu)"
getent passwd sshd >/dev/null && exec "\$here/usr/sbin/sshd" "\$@"
exec unshare --mount --propagation private sh -ec '
    { cat /etc/passwd; echo sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin; } >"\$0/passwd.\$\$"
    mv "\$0/passwd.\$\$" "\$0/passwd"
    mount --bind "\$0/passwd" /etc/passwd
    exec "\$0/usr/sbin/sshd" "\$@"' "\$here" "\$@"
SH
}
