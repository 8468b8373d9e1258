#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of `papillon gemm` on random normal matrices, as the tables of docs/matrix_products.md.

    python3 perf/gemm_error.py --binary build/host/bin/papillon

References are float64 products for float32, products of long double (64-bit significands) for float64. Some minutes.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

import numpy as np

CHOICES = {
    "classical": ("--algorithm", "classical"),
    "Strassen, 1 level": ("--algorithm", "strassen", "--levels", "1"),
    "Strassen, 2 levels": ("--algorithm", "strassen", "--levels", "2"),
    "Strassen, 3 levels": ("--algorithm", "strassen", "--levels", "3"),
    "Winograd, 1 level": ("--algorithm", "winograd", "--levels", "1"),
    "Winograd, 2 levels": ("--algorithm", "winograd", "--levels", "2"),
}
WIDER = {"<f4": np.float64, "<f8": np.longdouble}


class Command:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)

    def multiply(self, a, b, choice):
        """The product, and the factor of u max|A| max|B| in the bound of its error."""
        names = [str(self.folder / name) for name in ("a.npy", "b.npy", "c.npy")]
        np.save(names[0], a)
        np.save(names[1], b)
        text = subprocess.run([self.binary, "gemm", *names[:2], "-o", names[2], "--force", *choice], check=True,
                              capture_output=True, text=True).stdout
        return np.load(names[2]), float(re.search(r"error bound: (\S+) u", text).group(1))


def print_normal(command, dtype, sizes):
    print(f"| {np.dtype(dtype).name} | " + " | ".join(f"n = {n}" for n in sizes) + f" | bound, n = {sizes[-1]} |")
    print("|---" * (len(sizes) + 2) + "|")
    random = np.random.default_rng(1)
    operands = [[random.standard_normal((n, n)).astype(dtype) for _ in "AB"] for n in sizes]
    exact = [np.matmul(*(x.astype(WIDER[dtype]) for x in pair)) for pair in operands]
    unit = np.finfo(dtype).eps / 2
    for name, choice in CHOICES.items():
        cells = []
        for (a, b), c in zip(operands, exact):
            made, factor = command.multiply(a, b, choice)
            difference = made - c
            frobenius = np.linalg.norm(difference.astype(np.float64)) / np.linalg.norm(c.astype(np.float64))
            cells.append(f"{frobenius:.1e}, {float(abs(difference).max()):.1e}")
            bound = factor * unit * float(abs(a).max()) * float(abs(b).max())
        print(f"| {name} | " + " | ".join(cells) + f" | {bound:.1e} |", flush=True)


def print_small_row(command, dtype, n):
    """The relative error of the first row of C where that of A is 2^-10 or 2^-20 of the others."""
    random = np.random.default_rng(2)
    a, b = (random.standard_normal((n, n)).astype(dtype) for _ in "AB")
    print(f"| {np.dtype(dtype).name}, n = {n} | first row as the others | 2^-10 of them | 2^-20 of them |")
    print("|---|---|---|---|")
    for name, choice in CHOICES.items():
        cells = []
        for exponent in 0, -10, -20:
            graded = a.copy()
            graded[0] *= 2.0**exponent
            row = graded[0].astype(np.longdouble) @ b.astype(np.longdouble)
            made = command.multiply(graded, b, choice)[0][0]
            cells.append(f"{np.linalg.norm((made - row).astype(float)) / np.linalg.norm(row.astype(float)):.1e}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    with tempfile.TemporaryDirectory(prefix="papillon-error-") as folder:
        command = Command(parser.parse_args().binary, folder)
        for dtype in WIDER:
            print_normal(command, dtype, [256, 512, 1024, 2048])
            print()
        print_small_row(command, "<f4", 1024)


if __name__ == "__main__":
    main()
