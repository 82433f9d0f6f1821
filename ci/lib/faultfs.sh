# shellcheck shell=bash
# The file system with faults of faultfs.c, for tests and benchmarks. Sourced after common.sh's variables are set.

# provide_faultfs PROGRAM: makes it; where it cannot be used, prints why and returns 1.
provide_faultfs() {
    [ -w /dev/fuse ] || { echo "/dev/fuse is not there, or not this user's"; return 1; }
    pkg-config --exists fuse3 || { echo "libfuse3-dev is not installed"; return 1; }
    # shellcheck disable=SC2046 # words
    cc -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread -o "$1" "$HOWDAH_ROOT/ci/lib/faultfs.c" $(pkg-config --cflags --libs fuse3)
}
