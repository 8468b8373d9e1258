#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh [FOLDER]: tests, sanitizers on a reduced set where compute-sanitizer is there, the command on both devices,
# and the benchmark; logs and
# figures go to FOLDER (default: here).
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" OMP_PROC_BIND=false
status=0
"$here/papillon-gpu-tests" >"$out/tests.log" 2>&1 || status=1
tail -n 30 "$out/tests.log"
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck; do
    # initcheck does not see what the copy engine stores, as the products of 16-bit scalars do.
    except=
    [ $tool = initcheck ] && except="-tce=*gemm*half*,*gemm*bfloat16*"
    timeout 150 compute-sanitizer --tool $tool --error-exitcode 3 "$here/papillon-gpu-tests" -tc="reduced set*" $except \
      >"$out/$tool.log" 2>&1 || { status=1; echo "$tool: exit status not 0"; }
    tail -n 3 "$out/$tool.log"
  done
fi
python3 "$here/compare_devices.py" "$here/papillon" >"$out/compare_devices.log" 2>&1 || status=1
tail -n 5 "$out/compare_devices.log"
"$here/papillon" info | sed 's/^Hadamard.*//' >"$out/info.log" 2>&1
for n in 128 8192 32768 7168; do
  "$here/papillon" explain hadamard --n $n --rows 4096 --dtype bf16 --arch sm_90 >>"$out/explain.log" 2>&1
done
"$here/papillon-perf-gpu" --json "$out/perf.json" || status=1
"$here/papillon-perf-gpu-gemm" --json "$out/gemm.json" || status=1
"$here/papillon-perf-gpu-kronecker" --json "$out/kronecker.json" || status=1
"$here/papillon-perf-gpu-quantize" --json "$out/quantize.json" || status=1
exit $status
