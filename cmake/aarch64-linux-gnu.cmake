# Compiles for aarch64 on another machine, against the Debian packages that scripts/arm unpacks; tests run under QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# GCC notes for aarch64 that its C++17 passes some arguments otherwise than GCC before 10.1 did.
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)

cmake_path(SET root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/arm-sysroot)
set(CMAKE_SYSROOT ${root})
set(CMAKE_FIND_ROOT_PATH ${root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${root}/usr/lib/aarch64-linux-gnu/pkgconfig:${root}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
# This machine's h5cc would tell of this machine's HDF5.
set(HDF5_C_COMPILER_EXECUTABLE ${CMAKE_C_COMPILER})
set(CMAKE_INCLUDE_PATH /usr/include/hdf5/serial)
set(CMAKE_LIBRARY_PATH /usr/lib/aarch64-linux-gnu/hdf5/serial)

# Programs for aarch64 run here, too: tests, and those that the configuration tries.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${root})
