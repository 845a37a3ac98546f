# CMake's toolchain for a program of another machine, by Debian's cross compiler, with the libraries of a tree that
# packaging/sysroot.py makes. MINKE_MACHINE is the machine as compilers name it, MINKE_SYSROOT the tree.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MINKE_MACHINE MINKE_SYSROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${MINKE_MACHINE})
set(CMAKE_C_COMPILER ${MINKE_MACHINE}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${MINKE_MACHINE}-linux-gnu-g++)
set(CMAKE_SYSROOT ${MINKE_SYSROOT})
# Programs are this machine's: protoc, node, python3.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
