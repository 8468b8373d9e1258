#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small .npy files of every kind, as NumPy writes them, into the folder named: seeds for fuzz_npy."""
import pathlib
import sys

import numpy as np


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for dtype in "f2 f4 f8 i1 i4 i8 c8 c16 V2 >f4 O U3 ?".split():
        for version in (1, 0), (2, 0), (3, 0):
            for order in "CF":
                array = np.zeros((2, 3), order=order).astype(dtype, order=order)
                name = "%s-%d-%s.npy" % (dtype.replace(">", "big-").replace("?", "bool"), version[0], order)
                with open(folder / name, "wb") as file:
                    np.lib.format.write_array(file, array, version=version)
    for rank in range(9):
        np.save(folder / f"rank-{rank}.npy", np.zeros((1,) * rank, np.float32))


if __name__ == "__main__":
    main()
