#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's casts to float8_e4m3fn and float8_e5m2 against the table that the tests' oracle prints.

    python3 tests/check_torch_casts.py build/host/tests/papillon-print-casts

Ends with status 77 (skipped) where PyTorch cannot be imported. The cast to float8_e4m3fn saturates since
PyTorch 2.12 and gave NaN before: each is compared with the oracle's codes of that kind. PyTorch keeps the sign
of a NaN; the formats here, like CUDA's conversions, have one NaN, 0x7f, so that NaNs are compared as one.
"""
import subprocess
import sys

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)


def is_nan(codes, dtype):
    return codes.view(dtype).to(torch.float32).isnan()


table = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
rows = [[int(word, 16) for word in line.split()] for line in table.splitlines()]
bits = torch.tensor([row[0] for row in rows], dtype=torch.int64)
values = torch.where(bits >= 1 << 31, bits - (1 << 32), bits).to(torch.int32).view(torch.float32)
saturates = bool(torch.tensor(1000.0).to(torch.float8_e4m3fn).to(torch.float32).isfinite())
failures = 0
for column, dtype in ((2 if saturates else 1, torch.float8_e4m3fn), (3, torch.float8_e5m2)):
    ours = torch.tensor([row[column] for row in rows], dtype=torch.uint8)
    theirs = values.to(dtype).view(torch.uint8)
    different = ((ours != theirs) & ~(is_nan(ours, dtype) & is_nan(theirs, dtype))).nonzero().flatten().tolist()
    failures += len(different)
    print(f"{dtype}: {len(rows)} values, {len(different)} differ")
    for i in different[:10]:
        print(f"  {bits[i].item():08x} = {values[i].item()!r}: oracle {ours[i].item():#04x}, PyTorch {theirs[i].item():#04x}")
sys.exit(1 if failures else 0)
