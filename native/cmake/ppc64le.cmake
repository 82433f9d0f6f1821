# SPDX-License-Identifier: Apache-2.0
# Cross-build for POWER8 and later, little endian, with tests under user emulation:
#   HOWDAH_PPC64LE_SYSROOT=FOLDER cmake -S native -B build/native-ppc64le -DCMAKE_TOOLCHAIN_FILE=native/cmake/ppc64le.cmake
# The sysroot (ci/native --ppc64le makes one) is named by the environment: cache variables do not reach CMake's own
# trial builds.
set(sysroot $ENV{HOWDAH_PPC64LE_SYSROOT})
if(NOT sysroot)
    message(FATAL_ERROR "HOWDAH_PPC64LE_SYSROOT must name a sysroot; ci/native --ppc64le provides one")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE powerpc64le-linux-gnu)
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_C_FLAGS_INIT "-mcpu=power8")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-ppc64le;-cpu;power8;-L;${sysroot})
