#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's casts to float8_e4m3fn and float8_e5m2 against the table that the tests' oracle prints.

    python3 tests/check_torch_casts.py build/host/tests/papillon-print-casts

Ends with status 77 (skipped) where PyTorch cannot be imported. PyTorch keeps the sign of a NaN; the formats
here, like CUDA's conversions, have one NaN, 0x7f.
"""
import subprocess
import sys

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)

rows = [line.split() for line in subprocess.run([sys.argv[1]], check=True, capture_output=True,
                                                text=True).stdout.splitlines()]
bits = torch.tensor([int(row[0], 16) for row in rows], dtype=torch.int64)
values = torch.where(bits >= 1 << 31, bits - (1 << 32), bits).to(torch.int32).view(torch.float32)
failures = 0
for column, dtype in ((1, torch.float8_e4m3fn), (2, torch.float8_e5m2)):
    ours = torch.tensor([int(row[column], 16) for row in rows], dtype=torch.uint8)
    theirs = values.to(dtype).view(torch.uint8)
    is_nan = theirs.view(dtype).to(torch.float32).isnan()
    theirs = torch.where(is_nan, torch.tensor(0x7F, dtype=torch.uint8), theirs)
    if dtype == torch.float8_e4m3fn:  # past the largest there is only NaN, whose sign does not count
        ours = torch.where((ours & 0x7F) == 0x7F, torch.tensor(0x7F, dtype=torch.uint8), ours)
    different = (ours != theirs).nonzero().flatten()
    failures += len(different)
    print(f"{dtype}: {len(rows)} values, {len(different)} differ")
    for i in different[:10].tolist():
        print(f"  {rows[i][0]} = {values[i].item()!r}: oracle {ours[i].item():#04x}, PyTorch {theirs[i].item():#04x}")
sys.exit(1 if failures else 0)
