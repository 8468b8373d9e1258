#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare_devices.py PAPILLON: with `--device cuda` and `--device cpu` the commands must write the same bytes.

Kronecker products do so for whole numbers, whose sums are exact in every order.

The Python standard library is enough. Exit status 1 and the case's name where they differ.
"""
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

# name: NumPy type string, bytes, and the mask and value that keep random bits finite (top exponent bit clear)
TYPES = {"f2": ("<f2", 2, 0xBF), "f4": ("<f4", 4, 0xBF), "f8": ("<f8", 8, 0xBF), "bf16": ("|V2", 2, 0xBF)}
LENGTHS = [1 << k for k in range(3, 16)] + [12, 96, 7168]


def write_random(path: Path, descr: str, width: int, mask: int, shape: tuple[int, int], generator: random.Random) -> None:
    data = bytearray(generator.randbytes(shape[0] * shape[1] * width))
    data[width - 1::width] = bytes(b & mask for b in data[width - 1::width])
    write_npy(path, descr, shape, data)


def write_whole(path: Path, shape: tuple[int, ...], generator: random.Random) -> None:
    """Whole numbers from 1 to 5 in float64."""
    count = math.prod(shape)
    write_npy(path, "<f8", shape, struct.pack(f"<{count}d", *(float(generator.randint(1, 5)) for _ in range(count))))


def write_npy(path: Path, descr: str, shape: tuple[int, ...], data: bytes) -> None:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)


def main(papillon: str) -> int:
    generator = random.Random(20261130)
    bad = count = 0
    with tempfile.TemporaryDirectory() as folder:
        source, outputs = Path(folder, "x.npy"), {d: Path(folder, d + ".npy") for d in ("cuda", "cpu")}
        for name, (descr, width, mask) in TYPES.items():
            for n in LENGTHS:
                write_random(source, descr, width, mask, (max(3, 65537 // n), n), generator)
                extra = ["--norm", "ortho"] if n % 3 else ["--transpose", "--seed", "7"]
                for device, output in outputs.items():
                    subprocess.run([papillon, "hadamard", source, "-o", output, "--force", "--device", device, *extra],
                                   check=True)
                count += 1
                if outputs["cuda"].read_bytes() != outputs["cpu"].read_bytes():
                    bad += 1
                    print(f"{name}, n = {n}: the files differ")
        factors = Path(folder, "factors")
        factors.mkdir()
        for number, d in enumerate((1, 2, 4, 8, 16, 32, 64, 128)):
            write_whole(factors / f"{number}.npy", (128 // d, 2, 2, d), generator)
        write_whole(Path(folder, "f.npy"), (16, 16), generator)
        write_whole(Path(folder, "g.npy"), (7, 16), generator)
        write_whole(source, (100, 256), generator)
        both = ["--factor", Path(folder, "f.npy"), "--factor"]
        for command in (["kronecker", *both, Path(folder, "f.npy")], ["kronecker", *both, Path(folder, "g.npy")],
                        ["butterfly", "--factors", factors]):
            for device, output in outputs.items():
                subprocess.run([papillon, command[0], source, "-o", output, "--force", "--device", device, *command[1:]],
                               check=True)
            count += 1
            if outputs["cuda"].read_bytes() != outputs["cpu"].read_bytes():
                bad += 1
                print(f"{command[0]}: the files differ")
    print(f"compare_devices: {count} cases, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
