#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# collect_libraries.sh FOLDER: copies the shared libraries that another machine may lack (Kokkos, libzip and what
# they need; not the C and C++ runtimes) beside the programs of FOLDER, which look for them there.
set -eu
for program in "$1"/papillon-gpu-tests "$1"/papillon; do
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | grep -E 'kokkos|hwloc|hwy|tbb|libzip|libbz2|liblzma|libzstd|libcrypto|libz\.' | while read -r library; do
    [ "$(dirname "$library")" = "$1" ] && continue # found beside the program already
    cp -L "$library" "$1/"
  done
done
