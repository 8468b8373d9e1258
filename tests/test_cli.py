#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `papillon` command from file to file, with NumPy and SciPy as the oracle.

    python3 tests/test_cli.py --binary build/host/bin/papillon [--large] [unittest arguments]

With PAPILLON_TEST_MODEL=FILE.safetensors the tests quantise that model too, for which docs/quantisation.md has figures.
--large adds a file of 2^31 + 2^12 half-precision elements: 9 GB of disk, some minutes.
"""
import argparse
import ast
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
import xml.etree.ElementTree
import zipfile

import numpy as np
import scipy.linalg

BINARY = None
LARGE = False

FLOATS = ["<f2", "<f4", "<f8"]
INTEGERS = ["<i4", "<i8"]
COMPLEX = ["<c8", "<c16"]
NUMPY_TYPES = FLOATS + INTEGERS + COMPLEX


def power_of_two(n):
    return n & (n - 1) == 0


def to_bfloat16(array):
    """The bits of float32 values rounded to bfloat16, to nearest even; no NaN."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def butterfly(array):
    """Fast transform of the last axis, lowest index bit first, in the array's own arithmetic."""
    y = array.copy()
    n = y.shape[-1]
    h = 1
    while h < n:
        pairs = y.reshape(y.shape[:-1] + (n // (2 * h), 2, h))
        a, b = pairs[..., 0, :].copy(), pairs[..., 1, :].copy()
        pairs[..., 0, :], pairs[..., 1, :] = a + b, a - b
        h *= 2
    return y


def splitmix64_signs(seed, count):
    """Sign i is bit i % 64 of SplitMix64's output i // 64; a set bit is -1."""
    mask = (1 << 64) - 1
    signs, state = [], seed
    while len(signs) < count:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        signs += [-1 if z >> bit & 1 else 1 for bit in range(64)]
    return np.array(signs[:count])


def peak_memory(command):
    """Runs a command, which must succeed, and says how many bytes it had in memory at the most."""
    # Under the address sanitizer, which otherwise keeps 256 MB of what was freed.
    options = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1")))
    process = subprocess.Popen(command, env=os.environ | {"ASAN_OPTIONS": options})
    peak = 0  # of the command's own pages; getrusage would count this script's, from before exec
    while process.poll() is None:
        for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]) * 1024)
        time.sleep(0.05)
    assert process.returncode == 0, command
    return peak


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="papillon-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.random = np.random.default_rng(7)

    def path(self, name):
        return str(self.folder / name)

    def run_command(self, *arguments, **options):
        return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, timeout=600, **options)

    def succeed(self, *arguments):
        result = self.run_command(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertEqual(result.stderr, b"")
        return result.stdout.decode()

    def fail_with(self, text, *arguments, output="out.npy", **options):
        """The command ends with status 2, one line that contains `text`, and leaves no file behind."""
        before = sorted(os.listdir(self.folder))
        result = self.run_command(*arguments, **options)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, 2, message)
        self.assertTrue(message.startswith("papillon: ") and message.endswith("\n"), message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertIn(text, message)
        self.assertEqual(sorted(os.listdir(self.folder)), before, "files left behind or removed")
        self.assertEqual(result.stdout, b"")
        return message

    def save(self, array, name="in.npy", version=None):
        with open(self.path(name), "wb") as file:
            np.lib.format.write_array(file, array, version=version)
        return self.path(name)

    def transform(self, array, *arguments, version=None):
        """What the command makes of an array; type, shape and order must survive."""
        source = self.save(array, version=version)
        target = self.path("out.npy")
        self.succeed("hadamard", source, "-o", target, "--force", *arguments)
        result = np.load(target)
        self.assertEqual(result.dtype, array.dtype)
        self.assertEqual(result.shape, array.shape)
        self.assertEqual(result.flags.f_contiguous, array.flags.f_contiguous)
        self.assertEqual(result.flags.c_contiguous, array.flags.c_contiguous)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted({"in.npy", "out.npy"} | self.kept()))
        return result

    def kept(self):
        return {name for name in os.listdir(self.folder) if name.startswith("keep")}

    def small_integers(self, shape, dtype, order="C"):
        """Random small integers as `dtype`: sums of them are exact in every type, 16-bit included."""
        values = self.random.integers(-3, 4, shape)
        if dtype in COMPLEX:
            values = values + 1j * self.random.integers(-3, 4, shape)
        return np.array(values, dtype=dtype, order=order)

    def matrix(self, order):
        target = self.path("keep-matrix.npy")
        self.succeed("matrix", order, "-o", target, "--force")
        return np.load(target)


class Matrices(CommandTest):
    def test_matrix_is_hadamard(self):
        for order in 1, 2, 4, 12, 20, 28, 40, 80, 96, 172, 192, 668 + 4, 684, 3584:
            matrix = self.matrix(order)
            self.assertEqual(matrix.dtype, np.int8)
            self.assertEqual(matrix.shape, (order, order))
            self.assertEqual(set(np.unique(matrix)) - {-1, 1}, set())
            product = matrix.astype(np.float32) @ matrix.T.astype(np.float32)  # integers below 2^24: exact
            self.assertTrue(np.array_equal(product, order * np.eye(order)), order)

    def test_powers_of_two_are_sylvesters(self):
        for order in 1, 2, 4, 8, 64, 1024:
            self.assertTrue(np.array_equal(self.matrix(order), scipy.linalg.hadamard(order)))

    def test_kronecker_structure(self):
        for order, base in (80, 20), (96, 12), (192, 12), (3584, 28):
            expected = np.kron(self.matrix(base), scipy.linalg.hadamard(order // base))
            self.assertTrue(np.array_equal(self.matrix(order), expected), order)

    def test_errors(self):
        self.fail_with("nearest offered orders are 2 and 4", "matrix", 3, "-o", self.path("out.npy"))
        self.fail_with("668", "matrix", 668, "-o", self.path("out.npy"))
        for order in 0, -4, 1 << 62:
            self.fail_with(str(order), "matrix", order, "-o", self.path("out.npy"))
        self.fail_with("twelve", "matrix", "twelve", "-o", self.path("out.npy"))
        self.fail_with("--output is required", "matrix", 12)
        self.save(np.zeros(1), "keep.npy")
        self.fail_with("keep.npy: exists already", "matrix", 12, "-o", self.path("keep.npy"))


class Transforms(CommandTest):
    def test_equals_dense_product(self):
        for n in 1, 2, 4, 12, 20, 28, 80, 96, 192, 3584:
            matrix = scipy.linalg.hadamard(n) if power_of_two(n) else self.matrix(n)
            x = self.random.integers(-(1 << 40), 1 << 40, (3, n))
            expected = x @ matrix.astype(np.int64).T
            self.assertTrue(np.array_equal(self.transform(x, "--norm", "none"), expected), n)

    def test_equals_dense_product_10944(self):
        n = 10944
        matrix = self.matrix(n)
        x = self.random.integers(-(1 << 30), 1 << 30, (2, n))
        y = self.transform(x, "--norm", "none")
        for begin in range(0, n, 912):
            rows = matrix[begin:begin + 912].astype(np.int64)
            self.assertTrue(np.array_equal(y[:, begin:begin + 912], x @ rows.T))

    def test_integers_wrap(self):
        for dtype in INTEGERS:
            limits = np.iinfo(dtype)
            x = self.random.integers(limits.min, limits.max, (5, 64), dtype=dtype, endpoint=True)
            with np.errstate(over="ignore"):
                self.assertTrue(np.array_equal(self.transform(x), butterfly(x)))

    def test_every_axis_of_five(self):
        shape = (4, 12, 2, 8, 20)
        for dtype, order in itertools.product(NUMPY_TYPES, "CF"):
            x = self.small_integers(shape, dtype, order)
            for axis in range(5):
                matrix = self.matrix(shape[axis]).astype(dtype)
                expected = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
                for argument in axis, axis - 5:
                    y = self.transform(x, "--axis", argument)
                    self.assertTrue(np.array_equal(y, expected), (dtype, order, axis))

    def test_several_axes(self):
        for shape in (4, 12, 2, 8), (2, 1, 8, 1, 2, 4, 1, 2):
            for dtype, order in itertools.product(["<i8", "<f2", "<c16"], "CF"):
                x = self.small_integers(shape, dtype, order)
                for count in 2, 3, len(shape):
                    for axes in list(itertools.combinations(range(len(shape)), count))[:8]:
                        expected = x.astype(np.complex128)
                        for axis in axes:
                            matrix = self.matrix(shape[axis])
                            expected = np.moveaxis(np.tensordot(matrix, expected, (1, axis)), 0, axis)
                        written = ",".join(str(axis - len(shape) if axis % 2 else axis) for axis in reversed(axes))
                        y = self.transform(x, "--axes=" + written)
                        self.assertTrue(np.array_equal(y, expected), (shape, dtype, order, axes))

    def test_several_axes_with_signs_and_order(self):
        natural = scipy.linalg.hadamard(16)
        sequency = natural[np.argsort(np.count_nonzero(np.diff(natural, axis=1), axis=1))]
        signs = self.random.choice([-1, 1], 256)
        name = self.save(signs, "keep-signs.npy")
        for order in "CF":
            x = self.small_integers((3, 16, 5, 16), "<i8", order)
            y = self.transform(x, "--axes", "1,3", "--signs", name, "--ordering", "sequency")
            signed = x * signs.reshape(16, 1, 16)
            self.assertTrue(np.array_equal(y, np.einsum("pj,qk,ajbk->apbq", sequency, sequency, signed)), order)
            seeded = x * splitmix64_signs(4, 256).reshape(16, 1, 16)
            self.assertTrue(np.array_equal(self.transform(x, "--axes", "1,3", "--seed", 4),
                                           np.einsum("pj,qk,ajbk->apbq", natural, natural, seeded)), order)

    def test_rounded_between_axes(self):
        x = self.random.standard_normal((32, 3, 64)).astype(np.float16)
        arguments = "--axes", "0,2", "--norm", "ortho"
        sums = np.moveaxis(butterfly(np.moveaxis(butterfly(x.astype(np.float32)), 0, 2)), 2, 0)
        factor = np.float32(1 / np.sqrt(32 * 64))
        self.assertTrue(np.array_equal(self.transform(x, *arguments), (sums * factor).astype(np.float16)))
        rows = butterfly(x.astype(np.float32)).astype(np.float16).astype(np.float32)
        sums = np.moveaxis(butterfly(np.moveaxis(rows, 0, 2)), 2, 0)
        self.assertTrue(np.array_equal(self.transform(x, *arguments, "--intermediate", "storage"),
                                       (sums * factor).astype(np.float16)))

    def test_every_type_version_order_rank(self):
        for dtype, version, order in itertools.product(NUMPY_TYPES, [(1, 0), (2, 0), (3, 0)], "CF"):
            for rank in range(1, 9):
                x = self.small_integers((2, 1, 3, 1, 2, 1, 2, 4)[8 - rank:], dtype, order)
                expected = (x @ scipy.linalg.hadamard(4)).astype(dtype)
                y = self.transform(x, version=version)
                self.assertTrue(np.array_equal(y, expected), (dtype, version, order, rank))

    def test_bfloat16(self):
        x = self.random.standard_normal((7, 256)).astype(np.float32)
        bits = to_bfloat16(x)
        exact_type = np.dtype("V2")
        expected = to_bfloat16(butterfly(from_bfloat16(bits)) * np.float32(1 / 16))
        for order, arguments in itertools.product("CF", [(), ("--dtype", "bf16")]):
            void = np.array(bits.view(exact_type), order=order)
            y = self.transform(void, "--norm", "ortho", *arguments)
            self.assertTrue(np.array_equal(np.ascontiguousarray(y).view(np.uint16), expected), order)

    def test_half_rounds_once(self):
        x = self.random.standard_normal((7, 256)).astype(np.float16)
        expected = (butterfly(x.astype(np.float32)) * np.float32(1 / 16)).astype(np.float16)
        self.assertTrue(np.array_equal(self.transform(x, "--norm", "ortho"), expected))

    def test_norm_and_scale(self):
        n = 64
        x = self.small_integers((5, n), "<f8")
        dense = x @ scipy.linalg.hadamard(n)
        self.assertTrue(np.array_equal(self.transform(x), dense))
        self.assertTrue(np.array_equal(self.transform(x, "--norm", "ortho"), dense / 8))
        self.assertTrue(np.array_equal(self.transform(x, "--norm", "inverse"), dense / 64))
        self.assertTrue(np.array_equal(self.transform(x, "--norm", "inverse", "--scale", "-4"), dense / -16))
        self.assertTrue(np.array_equal(self.transform(dense, "--norm", "inverse"), x))
        integers = self.small_integers((5, n), "<i4")
        self.assertTrue(np.array_equal(self.transform(integers, "--scale", "-3"),
                                       -3 * (integers @ scipy.linalg.hadamard(n))))

    def test_orderings(self):
        for n in 1, 2, 8, 256:
            natural = scipy.linalg.hadamard(n)
            changes = np.count_nonzero(np.diff(natural, axis=1), axis=1)
            sequency = natural[np.argsort(changes)]
            bits = n.bit_length() - 1
            reverse = [int(format(p, f"0{bits}b")[::-1], 2) if bits else 0 for p in range(n)]
            x = self.small_integers((3, n), "<i8")
            self.assertTrue(np.array_equal(self.transform(x, "--ordering", "natural"), x @ natural.T))
            self.assertTrue(np.array_equal(self.transform(x, "--ordering", "sequency"), x @ sequency.T))
            self.assertTrue(np.array_equal(self.transform(x, "--ordering", "dyadic"), x @ natural[reverse].T))

    def test_group(self):
        x = self.small_integers((3, 96, 5), "<i8")
        for group in 1, 2, 12, 32, 48, 96:
            matrix = np.kron(np.eye(96 // group, dtype=np.int64), self.matrix(group).astype(np.int64))
            expected = np.einsum("pj,aji->api", matrix, x)
            self.assertTrue(np.array_equal(self.transform(x, "--axis", 1, "--group", group), expected), group)

    def test_signs(self):
        x = self.small_integers((3, 64, 2), "<i8")
        signs = self.random.choice([-1, 1], 64)
        expected = np.einsum("pj,aji->api", scipy.linalg.hadamard(64), x * signs[:, None])
        for dtype in ["|i1", "<i4", "<i8"] + FLOATS:
            name = self.save(signs.astype(dtype), "keep-signs.npy")
            self.assertTrue(np.array_equal(self.transform(x, "--axis", 1, "--signs", name), expected), dtype)
        name = self.save(to_bfloat16(signs).view("V2"), "keep-signs.npy")
        self.assertTrue(np.array_equal(self.transform(x, "--axis", 1, "--signs", name), expected))
        name = self.save(signs[:16], "keep-signs.npy")
        tiled = np.kron(np.eye(4, dtype=np.int64), scipy.linalg.hadamard(16))
        expected = np.einsum("pj,aji->api", tiled, x * np.tile(signs[:16], 4)[:, None])
        self.assertTrue(np.array_equal(self.transform(x, "--axis", 1, "--group", 16, "--signs", name), expected))

    def test_seed(self):
        x = self.small_integers((3, 256), "<i8")
        for seed in 0, 1, (1 << 64) - 1:
            expected = (x * splitmix64_signs(seed, 256)) @ scipy.linalg.hadamard(256)
            self.assertTrue(np.array_equal(self.transform(x, "--seed", seed), expected), seed)

    def test_threads_give_the_same_bytes(self):
        for dtype in FLOATS + ["bf16"]:
            for shape, axis in ((1027, 4096), 1), ((1 << 20,), 0), ((192, 5001), 0), ((33, 96, 7), 1):
                x = self.random.standard_normal(shape).astype(np.float32)
                source = self.save(to_bfloat16(x).view("V2") if dtype == "bf16" else x.astype(dtype))
                contents = []
                for threads in 1, 2:
                    target = self.path(f"out{threads}.npy")
                    self.succeed("hadamard", source, "-o", target, "--norm", "ortho", "--axis", axis, "--threads",
                                 threads, "--force")
                    contents.append(pathlib.Path(target).read_bytes())
                self.assertTrue(contents[0] == contents[1], (dtype, shape))

    def test_empty_arrays(self):
        for shape, axis in ((0, 8), 1), ((0, 8), -1), ((4, 0, 3), 0), ((2, 4, 0), 1):
            for order in "CF":
                y = self.transform(np.zeros(shape, np.float32, order=order), "--axis", axis)
                self.assertEqual(y.shape, shape)

    def test_unaligned_data(self):
        # Old writers aligned headers to 16 bytes, and others need not align them at all.
        for dtype, padding in itertools.product(NUMPY_TYPES, range(0, 9)):
            x = self.small_integers((5, 8), dtype)
            text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': (5, 8)}}" + " " * padding
            header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
            pathlib.Path(self.path("in.npy")).write_bytes(header + x.tobytes())
            self.succeed("hadamard", self.path("in.npy"), "-o", self.path("out.npy"), "--force")
            self.assertTrue(np.array_equal(np.load(self.path("out.npy")), x @ scipy.linalg.hadamard(8)), dtype)

    def test_written_header(self):
        for order in "CF":
            self.transform(self.small_integers((3, 4), "<f4", order))
            contents = pathlib.Path(self.path("out.npy")).read_bytes()
            self.assertEqual(contents[:8], b"\x93NUMPY\x01\x00")
            length = int.from_bytes(contents[8:10], "little")
            self.assertEqual((10 + length) % 64, 0)
            self.assertEqual(len(contents), 10 + length + 48)
            self.assertEqual(ast.literal_eval(contents[10:10 + length].decode()),
                             {"descr": "<f4", "fortran_order": order == "F", "shape": (3, 4)})

    def test_result_has_the_usual_permissions(self):
        self.transform(self.small_integers((4,), "<f4"))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o777, 0o666 & ~mask)


class Slabs(CommandTest):
    """Files larger than the 64 MiB that are worked on at a time."""

    def test_rows(self):
        x = self.small_integers((70001, 256), "<f4")
        self.assertTrue(np.array_equal(self.transform(x), butterfly(x)))

    def test_rows_of_a_fortran_file(self):
        x = self.small_integers((256, 70001), "<f4", "F")
        self.assertTrue(np.array_equal(self.transform(x, "--axis", 0), np.asfortranarray(butterfly(x.T).T)))

    def test_columns(self):
        n, inner = 32, (1 << 20) + 24  # three slabs of columns, the last narrow
        x = self.small_integers((n, inner), "<f4")
        y = self.transform(x, "--axis", 0)
        self.assertTrue(np.array_equal(y, scipy.linalg.hadamard(n).astype(np.float32) @ x))

    def test_one_long_row(self):
        x = self.small_integers((1 << 25,), "<i4")
        self.assertTrue(np.array_equal(self.transform(x), butterfly(x)))

    def test_long_row_in_groups(self):
        x = self.small_integers((1 << 25,), "<i4")
        expected = butterfly(x.reshape(-1, 64)).reshape(-1)
        self.assertTrue(np.array_equal(self.transform(x, "--group", 64), expected))

    def test_unaligned(self):
        x = self.small_integers((70001, 256), "<f4")
        text = "{'descr': '<f4', 'fortran_order': False, 'shape': (70001, 256)}"
        text += " " * ((3 - len(text) - 10) % 4)
        header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        self.assertEqual(len(header) % 4, 3)
        with open(self.path("in.npy"), "wb") as file:
            file.write(header)
            x.tofile(file)
        self.succeed("hadamard", self.path("in.npy"), "-o", self.path("out.npy"))
        self.assertTrue(np.array_equal(np.load(self.path("out.npy")), butterfly(x)))


class Outputs(CommandTest):
    def test_overwriting_needs_force(self):
        source = self.save(np.ones(4, np.float32))
        target = self.save(np.array([7]), "keep.npy")
        self.fail_with("keep.npy: exists already (--force overwrites it)", "hadamard", source, "-o", target)
        self.assertEqual(np.load(target), 7)
        self.fail_with("axis = 3", "hadamard", source, "-o", target, "--force", "--axis", 3)
        self.assertEqual(np.load(target), 7)
        self.succeed("hadamard", source, "-o", target, "--force")
        self.assertTrue(np.array_equal(np.load(target), [4, 0, 0, 0]))

    def test_input_may_be_the_output(self):
        source = self.save(np.ones(4, np.float32))
        self.succeed("hadamard", source, "-o", source, "--force")
        self.assertTrue(np.array_equal(np.load(source), [4, 0, 0, 0]))

    def test_relative_names(self):
        self.save(np.ones(4, np.float32))
        result = self.run_command("hadamard", "in.npy", "-o", "out.npy", cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(np.array_equal(np.load(self.path("out.npy")), [4, 0, 0, 0]))

    def test_long_name(self):
        source = self.save(np.ones(4, np.float32))
        self.succeed("hadamard", source, "-o", self.path("n" * 251 + ".npy"))
        self.fail_with("File name too long", "hadamard", source, "-o", self.path("n" * 252 + ".npy"))
        self.fail_with("File name too long", "hadamard", source, "-o", self.path("d/" * 3000 + "o.npy"))

    def test_places_that_cannot_be_written(self):
        source = self.save(np.ones(4, np.float32))
        self.fail_with("No such file or directory", "hadamard", source, "-o", self.path("none/out.npy"))
        self.fail_with("in.npy/out.npy: cannot create a file in", "hadamard", source, "-o", source + "/out.npy")
        self.fail_with("is not a regular file", "hadamard", source, "-o", self.folder, "--force")
        self.fail_with("is not a regular file", "hadamard", source, "-o", "/dev/null", "--force")
        self.fail_with("/proc/out.npy: cannot create a file in /proc", "hadamard", source, "-o", "/proc/out.npy")
        if os.geteuid() != 0:
            closed = self.folder / "closed"
            closed.mkdir(mode=0o555)
            self.fail_with("Permission denied", "hadamard", source, "-o", closed / "out.npy")

    def test_file_size_limit(self):
        source = self.save(np.ones((1024, 1024), np.float32))
        self.fail_with("cannot reserve", "hadamard", source, "-o", self.path("out.npy"),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))

    def test_full_disk(self):
        free = shutil.disk_usage(self.folder).free
        rows = (free + (1 << 30)) // 1024
        with open(self.path("in.npy"), "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (rows, 256)})
            try:
                file.truncate(file.tell() + rows * 1024)
            except OSError:
                self.skipTest("no sparse files here")
        self.fail_with("no space left", "hadamard", self.path("in.npy"), "-o", self.path("out.npy"))

    def test_out_of_memory(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
        if self.run_command("--version", preexec_fn=limit).returncode != 0:
            self.skipTest("this build cannot start in 600 MiB of address space")
        self.fail_with("out of memory", "matrix", 32768, "-o", self.path("out.npy"), preexec_fn=limit)
        with open(self.path("in.npy"), "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 20, 256)})
            file.truncate(file.tell() + (1 << 30))
        self.fail_with("in.npy: cannot be mapped: Cannot allocate memory", "hadamard", self.path("in.npy"), "-o",
                       self.path("out.npy"), preexec_fn=limit)

    def test_signals_leave_nothing(self):
        with open(self.path("in.npy"), "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 18, 1024)})
            file.truncate(file.tell() + (1 << 30))
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            process = subprocess.Popen([BINARY, "hadamard", self.path("in.npy"), "-o", self.path("out.npy")],
                                       stderr=subprocess.PIPE)
            while process.poll() is None and len(os.listdir(self.folder)) < 2:
                time.sleep(0.001)
            process.send_signal(number)
            process.communicate(timeout=600)
            self.assertEqual(process.returncode, -number)
            self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_input_cut_short_meanwhile(self):
        with open(self.path("in.npy"), "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 18, 1024)})
            file.truncate(file.tell() + (1 << 30))
        process = subprocess.Popen([BINARY, "hadamard", self.path("in.npy"), "-o", self.path("out.npy")],
                                   stderr=subprocess.PIPE)
        while process.poll() is None and len(os.listdir(self.folder)) < 2:
            time.sleep(0.001)
        os.truncate(self.path("in.npy"), 4096)
        message = process.communicate(timeout=600)[1].decode()
        self.assertEqual(process.returncode, 2, message)
        self.assertIn("cut short", message)
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_full_standard_output(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([BINARY, "info"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, b"papillon: standard output cannot be written\n")


class BadInputs(CommandTest):
    def refuse(self, text, *arguments):
        message = self.fail_with(text, "hadamard", self.path("in.npy"), "-o", self.path("out.npy"), *arguments)
        self.assertIn("in.npy: ", message)

    def write(self, contents):
        pathlib.Path(self.path("in.npy")).write_bytes(contents)

    def test_no_npy_files(self):
        self.fail_with("none.npy: cannot be opened: No such file", "hadamard", self.path("none.npy"), "-o",
                       self.path("out.npy"))
        self.fail_with("is not a regular file", "hadamard", self.folder, "-o", self.path("out.npy"))
        self.fail_with("is not a regular file", "hadamard", "/dev/zero", "-o", self.path("out.npy"))
        os.mkfifo(self.path("pipe.npy"))
        self.fail_with("is not a regular file", "hadamard", self.path("pipe.npy"), "-o", self.path("out.npy"))
        os.remove(self.path("pipe.npy"))
        for contents in b"", b"\x93", b"PK\x03\x04", b"1.0 2.0 3.0\n" * 20:
            self.write(contents)
            self.refuse("is not an .npy file")
        np.savez(self.path("in.npy") + ".npz", np.zeros(4))
        os.rename(self.path("in.npy") + ".npz", self.path("in.npy"))
        self.refuse("is not an .npy file")

    def test_broken_files(self):
        self.save(np.zeros((4, 4), np.float32))
        whole = pathlib.Path(self.path("in.npy")).read_bytes()
        for length in 6, 9, 10, 50, 127:
            self.write(whole[:length])
            self.refuse("truncated .npy header")
        for length in 128, 191:
            self.write(whole[:length])
            self.refuse("truncated data: float32 of shape (4, 4) needs 64 bytes")
        self.write(whole + b"\0")
        self.refuse("1 extra bytes after the data")
        self.write(whole[:6] + b"\x04" + whole[7:])
        self.refuse("unknown .npy format version 4.0")
        self.write(whole.replace(b"(4, 4)", b"(4,-4)"))
        self.refuse("negative extent")
        self.write(whole.replace(b"(4, 4), ", b"(9223372036854775807, 9), ")[:300])
        self.refuse("more than 2^63 - 1 bytes")
        self.write(whole.replace(b"'shape'", b"'shap\n'"))
        self.refuse("malformed .npy header")
        self.write(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 4096)
        self.refuse("oversized .npy header")

    def test_unsupported_types(self):
        for dtype in ">f2", ">f4", ">f8", ">i4", ">i8", ">c8", ">c16":
            self.save(np.zeros((4, 4), dtype))
            self.refuse("big-endian elements ('" + dtype)
        ragged = np.empty(2, object)
        ragged[:] = [[1, 2], [3]]
        self.save(ragged)
        self.refuse("Python objects")
        self.save(np.zeros(4, [("a", "<f4"), ("b", "<f4")]))
        self.refuse("structured element types")
        for dtype in "?", "u1", "i2", "u4", "S4", "U4", "M8[s]", "V4", "longdouble":
            self.save(np.zeros(4, dtype))
            self.refuse("is not supported")
        self.save(np.zeros(4, np.int8))
        self.refuse("int8 of shape (4) cannot be transformed")

    def test_shapes(self):
        self.save(np.float32(1))
        self.refuse("rank 0")
        self.save(np.zeros((1,) * 9, np.float32))
        self.refuse("rank 9")
        self.save(np.zeros((3, 0), np.float32))
        self.refuse("n = 0")
        self.save(np.zeros((4, 7), np.float32))
        self.refuse("no Hadamard matrix of order n = 7")
        self.refuse("axis = 2", "--axis", 2)
        self.refuse("axis = -3", "--axis", -3)
        self.refuse("group = 3", "--group", 3)
        self.save(np.zeros((4, 668), np.float32))
        self.refuse("no Hadamard matrix of order n = 668")

    def test_options(self):
        self.save(np.zeros((4, 12), np.float32))
        self.refuse("ordering = sequency exists for powers of two only", "--ordering", "sequency")
        self.refuse("scale = nan", "--scale", "nan")
        self.refuse("scale = 1e+300", "--scale", "1e300")
        self.refuse("--dtype bf16 says how to read 2-byte void elements, but the file holds float32", "--dtype", "bf16")
        self.refuse("axes: an entry = 2 is outside", "--axes", "0,2")
        self.refuse("axes = (1, 0, -1) names axis 1", "--axes", "1,0,-1")
        self.refuse("group = 2 is for a transform of one axis", "--axes", "1,0", "--group", 2)
        self.fail_with("axes has 9 entries", "hadamard", self.path("in.npy"), "-o", self.path("out.npy"), "--axes",
                       "0,1,2,3,4,5,6,7,8")
        self.save(np.zeros((4, 12), np.int32))
        self.refuse("integer factor", "--norm", "ortho")
        self.refuse("integer factor", "--norm", "inverse")
        self.refuse("integer factor", "--scale", "0.5")

    def test_signs(self):
        self.save(np.zeros((4, 8), np.float32))
        signs = self.path("signs.npy")
        arguments = ("hadamard", self.path("in.npy"), "-o", self.path("out.npy"), "--signs", signs)
        self.fail_with("signs.npy: cannot be opened", *arguments)
        for shape in (7,), (9,), (8, 1), (), (0,):
            self.save(np.ones(shape), "signs.npy")
            self.fail_with("given as signs, but the transform has length 8", *arguments)
        for value in 0, 2, 0.5, np.nan, np.inf, -1e300:
            self.save(np.array([1, -1, 1, value, 1, 1, 1, 1.0]), "signs.npy")
            self.fail_with("signs.npy: sign 3 is ", *arguments)
        self.save(np.ones(8, np.complex64), "signs.npy")
        self.fail_with("signs must be real", *arguments)

    def test_usage(self):
        source = self.save(np.zeros((4, 8), np.float32))
        target = self.path("out.npy")
        for arguments in ((), ("hadamard",), ("hadamard", source), ("transform",), ("hadamard", source, "-o"),
                          ("hadamard", "-o", target), ("hadamard", source, "-o", target, "another"),
                          ("hadamard", source, "-o", target, "--unknown")):
            self.fail_with("papillon --help tells the usage", *arguments)
        for option, value in (("--norm", "l2"), ("--ordering", "random"), ("--axis", "x"), ("--group", "0"),
                              ("--group", "-4"), ("--threads", "0"), ("--threads", "-1"), ("--threads", "99999"),
                              ("--seed", "-1"), ("--seed", "x"), ("--scale", "x"), ("--dtype", "f4"),
                              ("--device", "tpu")):
            self.fail_with(option, "hadamard", source, "-o", target, option, value)
        self.fail_with("excludes", "hadamard", source, "-o", target, "--seed", 1, "--signs", source)
        self.fail_with("excludes", "hadamard", source, "-o", target, "--axis", 1, "--axes", "0,1")
        for option in "--axis", "--axes", "--scale", "--signs", "--seed", "--group":
            self.fail_with(option, "hadamard", source, "-o", target, option, "")
        for axes in "010", "0x1", "true", "0.5", "1e0", "99999999999999999999":
            self.fail_with("--axes", "hadamard", source, "-o", target, "--axes", axes)
        self.fail_with("--axis", "hadamard", source, "-o", target, "--axis", "01")
        self.fail_with("--intermediate", "hadamard", source, "-o", target, "--intermediate", "f8")
        self.fail_with("--device cuda", "hadamard", source, "-o", target, "--device", "cuda")
        self.succeed("hadamard", "--axes", "0,1", source, "-o", target)  # the file is no axis
        for device in "auto", "cpu":
            self.succeed("hadamard", source, "-o", target, "--device", device, "--force")

    def test_control_characters_in_names(self):
        name = self.path("a\nb\x1b[31m.npy")
        message = self.fail_with("cannot be opened", "hadamard", name, "-o", self.path("out.npy"))
        self.assertNotIn("\x1b", message)


class KroneckerProducts(CommandTest):
    def multiply(self, array, factors, *arguments):
        """What the command makes of an array and factors (saved as they lie in memory); order must survive."""
        source = self.save(array)
        names = [self.save(factor, f"keep-{i}.npy") for i, factor in enumerate(factors)]
        options = [text for name in names for text in ("--factor", name)]
        self.succeed("kronecker", source, "-o", self.path("out.npy"), "--force", *options, *arguments)
        result = np.load(self.path("out.npy"))
        self.assertEqual(result.dtype, array.dtype)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted({"in.npy", "out.npy"} | self.kept()))
        return result

    def dense(self, factors, left=False, adjoint=False):
        """The matrix that multiplies a column, in complex128."""
        matrix = np.eye(1)
        for factor in factors:
            matrix = np.kron(matrix, factor.astype(np.complex128))
        if left:
            matrix = matrix.T
        return matrix.conj().T if adjoint else matrix

    def along(self, matrix, array, axis):
        return np.moveaxis(np.tensordot(matrix, array.astype(np.complex128), (1, axis)), 0, axis)

    def test_equals_numpys_kron(self):
        # Small integers: every product and sum is exact, and one rounding is left for 16-bit types.
        sizes = [(2, 3), (4, 2), (3, 3)]
        for dtype, order in itertools.product(FLOATS + COMPLEX, "CF"):
            factors = [self.small_integers(size, dtype, order) for size in sizes]
            for left, adjoint in itertools.product([False, True], repeat=2):
                matrix = self.dense(factors, left, adjoint)
                flags = ["--left"] * left + ["--adjoint"] * adjoint
                for rank, axis in (1, 0), (3, 0), (3, 1), (3, -1):
                    shape = [2, 5, 3][:rank]
                    shape[axis] = matrix.shape[1]
                    x = self.small_integers(shape, dtype, order)
                    expected = self.along(matrix, x, axis % rank) * -0.5
                    expected = (expected if dtype in COMPLEX else expected.real).astype(dtype)
                    y = self.multiply(x, factors, "--axis", axis, "--scale", "-0.5", *flags)
                    self.assertTrue(np.array_equal(y, expected), (dtype, order, left, adjoint, rank, axis))
                    self.assertEqual(y.flags.c_contiguous, expected.ndim == 1 or order == "C")

    def test_factors_do_not_commute(self):
        a, b = self.small_integers((2, 2), "<f8"), self.small_integers((3, 3), "<f8")
        x = self.small_integers((6,), "<f8")
        self.assertTrue(np.array_equal(self.multiply(x, [a, b]), np.kron(a, b) @ x))
        self.assertFalse(np.array_equal(np.kron(a, b) @ x, np.kron(b, a) @ x))
        self.assertTrue(np.array_equal(self.multiply(x, [b, a]), np.kron(b, a) @ x))

    def test_mixed_memory_orders(self):
        a, b = self.small_integers((2, 5), "<f4", "F"), self.small_integers((3, 4), "<f4", "C")
        x = self.small_integers((7, 20), "<f4", "F")
        y = self.multiply(x, [a, b])
        self.assertTrue(np.array_equal(y, x @ np.kron(a, b).T))
        self.assertTrue(y.flags.f_contiguous)

    def test_bfloat16(self):
        x, a = self.small_integers((7, 6), "<f4"), self.small_integers((5, 3), "<f4")
        b = self.small_integers((4, 2), "<f4")
        void = lambda array: to_bfloat16(array).view("V2")
        y = self.multiply(void(x), [void(a), void(b)])
        expected = to_bfloat16(x @ np.kron(a, b).T)
        self.assertTrue(np.array_equal(np.ascontiguousarray(y).view(np.uint16), expected))

    def test_rounding_errors(self):
        factors = [self.random.standard_normal((30, 25)), self.random.standard_normal((20, 40))]
        x = self.random.standard_normal((9, 1000))
        matrix = np.kron(*factors)
        for dtype, u in ("<f8", 2.0**-53), ("<f4", 2.0**-24):
            rounded = [factor.astype(dtype) for factor in factors]
            matrix = np.kron(*[factor.astype(np.longdouble) for factor in rounded])
            y = self.multiply(x.astype(dtype), rounded)
            expected = x.astype(dtype).astype(np.longdouble) @ matrix.T
            bound = (26 + 41 + 1) * u * (np.abs(x) @ np.abs(matrix).T) * 1.001
            self.assertTrue(np.all(np.abs(y - expected) <= bound), dtype)

    def test_one_factor_and_many(self):
        x = self.small_integers((3, 64), "<f4")
        ones = [self.small_integers((2, 2), "<f4") for _ in range(6)]
        self.assertTrue(np.array_equal(self.multiply(x, ones), x @ self.dense(ones).real.astype("<f4").T))
        one = self.small_integers((5, 64), "<f4")
        self.assertTrue(np.array_equal(self.multiply(x, [one]), x @ one.T))

    def test_empty_arrays(self):
        a, b = np.ones((2, 3), "<f4"), np.ones((2, 2), "<f4")
        self.assertEqual(self.multiply(np.zeros((0, 6), "<f4"), [a, b]).shape, (0, 4))
        self.assertEqual(self.multiply(np.zeros((6, 0), "<f4", order="F"), [a, b], "--axis", 0).shape, (4, 0))
        nothing = self.multiply(np.zeros((3, 0), "<f4"), [np.zeros((2, 0), "<f4"), b])
        self.assertTrue(np.array_equal(nothing, np.zeros((3, 4))))
        self.assertEqual(self.multiply(np.zeros((3, 2), "<f4"), [np.zeros((0, 2), "<f4")]).shape, (3, 0))

    def test_slabs(self):
        # Files of more than the 64 MiB that are worked on at a time: rows, columns, and one long vector.
        a, b = self.small_integers((3, 4), "<f4"), self.small_integers((5, 8), "<f4")
        matrix = np.kron(a, b)
        x = self.small_integers((600001, 32), "<f4")
        self.assertTrue(np.array_equal(self.multiply(x, [a, b]), x @ matrix.T))
        x = np.asfortranarray(x.T)
        self.assertTrue(np.array_equal(self.multiply(x, [a, b], "--axis", 0), matrix @ x))
        x = np.ascontiguousarray(x)
        self.assertTrue(np.array_equal(self.multiply(x, [a, b], "--axis", 0), matrix @ x))
        long = self.small_integers((1 << 25,), "<f4")
        twos = [self.small_integers((2, 2), "<f4") for _ in range(2)]
        wide = np.zeros((1 << 11, 1 << 11), "<f4")
        wide[np.arange(1 << 11), self.random.permutation(1 << 11)] = 2
        wider = np.eye(1 << 12, dtype="<f4")[::-1]
        expected = long.reshape(1 << 11, 1 << 12, 2, 2)
        expected = np.einsum("ij,kl,abjl->abik", twos[0], twos[1], expected)
        expected = expected[np.argmax(wide, axis=1)][:, ::-1] * 2
        self.assertTrue(np.array_equal(self.multiply(long, [wide, wider, *twos]), expected.reshape(-1)))

    def test_unaligned(self):
        x = self.small_integers((9, 6), "<f8")
        factor = self.small_integers((4, 6), "<f8")
        name = self.save(factor, "keep-factor.npy")
        for padding in range(8):
            text = "{'descr': '<f8', 'fortran_order': False, 'shape': (9, 6)}" + " " * padding
            header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
            pathlib.Path(self.path("in.npy")).write_bytes(header + x.tobytes())
            self.succeed("kronecker", self.path("in.npy"), "-o", self.path("out.npy"), "--factor", name, "--force")
            self.assertTrue(np.array_equal(np.load(self.path("out.npy")), x @ factor.T))

    def test_threads_give_the_same_bytes(self):
        x = self.random.standard_normal((1027, 480)).astype(np.float32)
        factors = [self.random.standard_normal(size).astype(np.float32) for size in ((6, 8), (7, 6), (9, 10))]
        one = self.multiply(x, factors, "--threads", 1)
        self.assertEqual(one.tobytes(), self.multiply(x, factors, "--threads", 2).tobytes())

    def test_outputs(self):
        factor = self.save(2 * np.eye(4, dtype="<f4"), "keep-factor.npy")
        source = self.save(np.ones(4, "<f4"))
        self.fail_with("in.npy: exists already (--force overwrites it)", "kronecker", source, "-o", source,
                       "--factor", factor)
        self.succeed("kronecker", source, "-o", source, "--factor", factor, "--force")
        self.assertTrue(np.array_equal(np.load(source), [2, 2, 2, 2]))
        self.succeed("kronecker", source, "-o", factor, "--factor", factor, "--force")
        self.assertTrue(np.array_equal(np.load(factor), [4, 4, 4, 4]))

    def test_errors(self):
        source = self.save(np.ones((3, 6), "<f4"))
        a = self.save(np.ones((2, 2), "<f4"), "a.npy")
        b = self.save(np.ones((4, 3), "<f4"), "b.npy")

        def refuse(text, *arguments, common=("kronecker", source, "-o", self.path("out.npy"))):
            return self.fail_with(text, *common, *arguments)

        both = "--factor", a, "--factor", b
        refuse("--factor is required")
        refuse("none.npy: cannot be opened: No such file", "--factor", self.path("none.npy"))
        refuse("none.npy: cannot be opened", *both, common=("kronecker", self.path("none.npy"), "-o", "out.npy"))
        message = refuse("2 * 2 columns but axis 1 of x of shape (3, 6) has length 6", "--factor", a, "--factor", a)
        self.assertIn("in.npy: float32 of shape (3, 6)", message)
        refuse("2 * 4 rows but axis 1", *both, "--left")
        refuse("in.npy: float32 of shape (3, 6): kronecker: axis = 2 is outside -2", *both, "--axis", 2)
        refuse("scale = nan is not finite", *both, "--scale", "nan")
        for shape in (6,), (1, 6, 1), ():
            self.save(np.ones(shape, "<f4"), "c.npy")
            refuse("is no matrix", "--factor", self.path("c.npy"))
        self.save(np.ones((2, 6), "<f8"), "c.npy")
        refuse("c.npy: float64 of shape (2, 6): a factor has the element type of the array, but ", "--factor",
               self.path("c.npy"))
        for dtype in "|i1", "<i4", "V2":
            self.save(np.ones((2, 6), "<i4").astype(dtype) if dtype != "V2" else np.zeros((2, 6), "V2"), "c.npy")
            refuse("a factor has the element type of the array", "--factor", self.path("c.npy"))
        whole = pathlib.Path(b).read_bytes()
        pathlib.Path(self.path("c.npy")).write_bytes(whole[:-1])
        refuse("c.npy: truncated data", "--factor", a, "--factor", self.path("c.npy"))
        pathlib.Path(self.path("c.npy")).write_bytes(whole[:50])
        refuse("c.npy: truncated .npy header", "--factor", a, "--factor", self.path("c.npy"))
        refuse("c.npy: truncated .npy header", *both, common=("kronecker", self.path("c.npy"), "-o", "out.npy"))
        refuse("--device cuda: ", *both, "--device", "cuda")
        refuse("--factor", "--factor", "")
        refuse("not expected", *both, a)
        refuse("--threads", *both, "--threads", 0)
        self.save(np.ones((3, 6), "<i4"))
        self.save(np.ones((2, 6), "<i4"), "c.npy")
        refuse("x holds int32; products of real and complex numbers", "--factor", self.path("c.npy"))
        self.save(np.ones((3, 6), "i1"))
        refuse("int8 of shape (3, 6) cannot be transformed", "--factor", self.path("c.npy"))
        self.save(np.float32(1))
        refuse("rank 0", *both)
        self.save(np.zeros((0, 1), "<f4"))
        self.save(np.zeros((1 << 21, 1), "<f4"), "c.npy")
        refuse("more than 2^63 - 1 points along the axis", *(["--factor", self.path("c.npy")] * 4))

    def test_explain(self):
        def text(*arguments):
            return self.succeed("explain", "kronecker", *arguments)

        plain = text("--shape", "1000,32", "--factor", "4x4", "--factor", "3x4", "--factor", "5x2")
        # Falling 1/rows - 1/columns: 1/3 - 1/4, 0, 1/5 - 1/2. 32 * 3 + 24 * 4 + 12 * 2 * 5 multiply-adds.
        self.assertIn("3 factors, 32 points to 60, float32, 1000 columns\n", plain)
        self.assertIn("pass 1: F2 (3 x 4), then F1 (4 x 4), then F3 (5 x 2); 32 points to 60", plain)
        self.assertIn("multiply-adds: 312000 (312 per column)\n", plain)
        self.assertIn("bytes moved: 368000 (368 per column, 1 pass), and 152 of factors\n", plain)
        self.assertIn("workspace: 0 bytes\n", plain)
        # Two passes of 16-bit elements: FP32 between them.
        two = text("--shape", "10,262144", "--factor", "512x512", "--factor", "512x512", "--dtype", "f2")
        self.assertIn(f"({512 * 512 * (2 + 4 + 4 + 2)} per column, 2 passes)", two)
        self.assertIn(f"workspace: {4 * 512 * 512 * 4} bytes\n", two)  # 4 MiB of columns at a time
        self.assertIn("1 column\n", text("--factor", "4x4"))
        self.assertIn("6 points to 4,", text("--factor", "2x2", "--factor", "2x3"))
        self.assertIn("4 points to 6,", text("--factor", "2x2", "--factor", "2x3", "--left"))
        self.assertIn("4 points to 6,", text("--factor", "2x2", "--factor", "2x3", "--adjoint"))
        there = text(*["--factor", "64x64"] * 3, "--dtype", "bf16", "--arch", "sm_90")
        self.assertRegex(there, r"kernel of pass 2: units \(|this build has no CUDA backend\n")
        self.assertRegex(text("--factor", "3x2", "--arch", "sm_90"), r"kernel of pass 1: general \(|no CUDA backend\n")
        source = self.save(np.zeros((7, 12, 5), "<c8"))
        factor = self.save(np.zeros((3, 4), "<c8", order="F"), "factor.npy")
        self.assertIn("complex64, 35 columns\npass 1: F2 (1 x 3), then F1 (3 x 4);",
                      text("--input", source, "--axis", 1, "--factor", factor, "--factor", "1x3"))
        self.assertIn("nothing to compute", text("--input", self.save(np.zeros((0, 4), "<f4")), "--factor", "2x4"))

    def test_explain_errors(self):
        self.fail_with("--factor is required", "explain", "kronecker", "--shape", "4,4")
        for size in "4y4", "4x", "x4", "0x4", "4x4x4", "-1x4":
            self.fail_with(size + ": cannot be opened", "explain", "kronecker", "--factor=" + size)
        self.fail_with("2 columns but axis 1 of x", "explain", "kronecker", "--factor", "2x2", "--shape", "4,4")
        self.fail_with("excludes", "explain", "kronecker", "--factor", "2x2", "--shape", "4,4", "--input", "in.npy")
        self.fail_with("x holds int32", "explain", "kronecker", "--factor", "2x2", "--dtype", "i4")
        self.fail_with("is outside", "explain", "kronecker", "--factor", "2x2", "--axis", "1")
        self.fail_with("--dtype holds float32", "explain", "kronecker", "--factor",
                       self.save(np.zeros((2, 2), "<f8")))


class ButterflyProducts(CommandTest):
    def setUp(self):
        super().setUp()
        np.savez(self.path("probe.npz"), np.ones(1))
        result = self.run_command("explain", "butterfly", "--factors", self.path("probe.npz"))
        self.reads_archives = b"configured without libzip" not in result.stderr
        os.remove(self.path("probe.npz"))

    def needs_archives(self):
        if not self.reads_archives:
            self.skipTest("this build has no libzip")

    def save_factors(self, factors):
        """The name of a new archive, or of a folder where the build reads no archives."""
        names = {f"factor_{i}": factor for i, factor in enumerate(factors)}
        if self.reads_archives:
            np.savez(self.path("keep.npz"), **names)
            return self.path("keep.npz")
        folder = self.folder / "keep-factors"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, factor in names.items():
            np.save(folder / name, factor)
        return str(folder)

    def multiply(self, array, factors, *arguments):
        """What the command makes of an array, the factors being a name or arrays for a new .npz file."""
        source = self.save(array)
        if not isinstance(factors, str):
            factors = self.save_factors(factors)
        self.succeed("butterfly", source, "-o", self.path("out.npy"), "--force", "--factors", factors, *arguments)
        result = np.load(self.path("out.npy"))
        self.assertEqual(result.dtype, array.dtype)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted({"in.npy", "out.npy"} | self.kept()))
        return result

    def dense(self, factors, adjoint=False):
        """The product of factors of shape (a, b, c, d), in complex128."""
        matrix = np.eye(factors[0].shape[0] * factors[0].shape[1] * factors[0].shape[3])
        for values in factors:
            a, b, c, d = values.shape
            sparse = np.zeros((a, b, d, a, c, d), np.complex128)
            for i, j in itertools.product(range(a), range(d)):
                sparse[i, :, j, i, :, j] = values[i, :, :, j]
            matrix = matrix @ sparse.reshape(a * b * d, a * c * d)
        return matrix.conj().T if adjoint else matrix

    def factors(self, patterns, dtype, order="C"):
        return [self.small_integers(pattern, dtype, order) for pattern in patterns]

    def test_equals_the_dense_product(self):
        patterns = [(1, 3, 2, 6), (2, 2, 1, 3), (2, 1, 4, 3)]  # 18 x 12, 12 x 6, 6 x 24
        for dtype, order in itertools.product(FLOATS + COMPLEX, "CF"):
            factors = self.factors(patterns, dtype, order)
            for adjoint in False, True:
                matrix = self.dense(factors, adjoint)
                for rank, axis in (1, 0), (3, 0), (3, 1), (3, -1):
                    shape = [2, 5, 3][:rank]
                    shape[axis] = matrix.shape[1]
                    x = self.small_integers(shape, dtype, order)
                    expected = np.moveaxis(np.tensordot(matrix, x.astype(np.complex128), (1, axis)), 0, axis) * -0.5
                    expected = (expected if dtype in COMPLEX else expected.real).astype(dtype)
                    y = self.multiply(x, factors, "--axis", axis, "--scale", "-0.5", *["--adjoint"] * adjoint)
                    self.assertTrue(np.array_equal(y, expected), (dtype, order, adjoint, rank, axis))

    def test_archives_and_folders(self):
        self.needs_archives()
        # Twelve factors, so that factor_2 must come before factor_10. Rows with a single ±1 keep sums exact.
        factors = []
        for i in range(12):
            values = np.zeros((2**(11 - i), 2, 2, 2**i))
            column = self.random.integers(0, 2, (2**(11 - i), 2, 1, 2**i))
            np.put_along_axis(values, column, self.random.choice([-1.0, 1.0], column.shape), axis=2)
            factors.append(values)
        x = self.small_integers((3, 4096), "<f8")
        expected = x
        for values in reversed(factors):  # Fk first
            a, b, c, d = values.shape
            expected = np.einsum("ipqj,niqj->nipj", values, expected.reshape(3, a, c, d)).reshape(3, -1)
        self.assertTrue(np.array_equal(self.multiply(x, factors), expected))
        np.savez_compressed(self.path("keep-deflated.npz"), *factors)  # arr_0 ... arr_11
        self.assertTrue(np.array_equal(self.multiply(x, self.path("keep-deflated.npz")), expected))
        folder = self.folder / "keep-folder"
        folder.mkdir()
        for i, factor in enumerate(factors):
            np.save(folder / f"F{i + 1}.npy", factor)
        (folder / "notes.txt").write_text("no factor")
        (folder / ".F0.npy").write_text("no factor")
        self.assertTrue(np.array_equal(self.multiply(x, str(folder)), expected))
        self.assertTrue(np.array_equal(self.multiply(x, str(folder) + "/"), expected))

    def test_patterns(self):
        x = self.small_integers((3, 24), "<f4")
        blocks, mix = self.small_integers((6, 4, 4), "<f4"), self.small_integers((3, 3), "<f4")
        full = [np.tile(mix[None, :, :, None], (2, 1, 1, 4)), blocks[:, :, :, None]]
        expected = x @ self.dense(full).real.astype("<f4").T
        patterns = "--pattern", "2,3,3,4", "--pattern", "6,4,4,1"
        self.assertTrue(np.array_equal(self.multiply(x, [mix, blocks], *patterns), expected))
        self.assertTrue(np.array_equal(self.multiply(x, full, *patterns), expected))
        repeated = self.small_integers((2, 3, 5), "<f4", "F")
        x = self.small_integers((40,), "<f4")
        expected = self.dense([np.repeat(repeated[..., None], 4, axis=3)]).real @ x
        self.assertTrue(np.array_equal(self.multiply(x, [repeated], "--pattern", "2,3,5,4"), expected))

    def test_permutation(self):
        factors = self.factors([(4, 3, 2, 1)], "<f8")
        order = self.random.permutation(8)
        name = self.save(order.astype("<i8"), "keep-permutation.npy")
        x = self.small_integers((5, 8), "<f8")
        matrix = self.dense(factors).real
        self.assertTrue(np.array_equal(self.multiply(x, factors, "--permutation", name), x[:, order] @ matrix.T))
        y = self.small_integers((5, 12), "<f8")
        back = np.zeros((5, 8))
        back[:, order] = y @ matrix
        self.assertTrue(np.array_equal(self.multiply(y, factors, "--permutation", name, "--adjoint"), back))

    def test_fourier_transform(self):
        n, factors, order, length = 60, [], np.arange(60), 60
        for radix in 5, 3, 4:  # decimation in time; the factor of the longest transforms first
            rest = length // radix
            twiddles = np.exp(-2j * np.pi * np.outer(np.arange(radix), np.arange(rest)) / length)
            small = np.exp(-2j * np.pi * np.outer(np.arange(radix), np.arange(radix)) / radix)
            values = small[:, :, None] * twiddles[None, :, :]
            factors.append(np.tile(values[None], (n // length, 1, 1, 1)))
            order = order.reshape(n // length, rest, radix).transpose(0, 2, 1).reshape(-1)
            length = rest
        name = self.save(order.astype("<i8"), "keep-permutation.npy")
        x = self.random.standard_normal((4, n)) + 1j * self.random.standard_normal((4, n))
        y = self.multiply(x, factors, "--permutation", name)
        # gamma of the docstring with sum of c = 12; each entry is within 8 u of the exact one; NumPy's own error.
        depth = 2 * np.sqrt(2) * 12 + 2 + 3 * 8
        bound = 2 * depth * 2.0**-53 * np.sum(np.abs(x), axis=1, keepdims=True)
        self.assertTrue(np.all(np.abs(y - np.fft.fft(x)) <= bound))

    def test_bfloat16(self):
        void = lambda array: to_bfloat16(array).view("V2")
        factors = self.factors([(2, 3, 2, 2), (4, 2, 3, 1)], "<f4")
        x = self.small_integers((7, 12), "<f4")
        matrix = self.dense(factors).real.astype("<f4")
        y = self.multiply(void(x), [void(factor) for factor in factors])
        self.assertTrue(np.array_equal(np.ascontiguousarray(y).view(np.uint16), to_bfloat16(x @ matrix.T)))

    def test_empty_arrays(self):
        factor = [np.ones((2, 3, 2, 1), "<f4")]
        self.assertEqual(self.multiply(np.zeros((0, 4), "<f4"), factor).shape, (0, 6))
        nothing = self.multiply(np.zeros((3, 0), "<f4"), [np.ones((2, 3, 0, 1), "<f4")])
        self.assertTrue(np.array_equal(nothing, np.zeros((3, 6))))

    def test_slabs(self):
        factors = self.factors([(1, 3, 2, 16), (2, 4, 4, 4)], "<f4")
        matrix = self.dense(factors).real.astype("<f4")
        x = self.small_integers((32, 600001), "<f4")
        self.assertTrue(np.array_equal(self.multiply(x, factors, "--axis", 0), matrix @ x))

    def test_errors(self):
        self.needs_archives()
        source = self.save(np.ones((3, 8), "<f4"))
        archive = self.path("f.npz")

        def refuse(text, *arguments, factors=archive):
            return self.fail_with(text, "butterfly", source, "-o", self.path("out.npy"), "--factors", factors,
                                  *arguments)

        good = np.ones((4, 2, 2, 1), "<f4")
        self.fail_with("--factors is required", "butterfly", source, "-o", self.path("out.npy"))
        refuse("f.npz: cannot be opened: No such file")
        np.savez(archive, good, np.ones((3, 2, 2, 1), "<f4"))
        message = refuse("factors[0] of pattern (4, 2, 2, 1) has 8 columns but factors[1] of pattern (3, 2, 2, 1) "
                         "has 6 rows")
        self.assertIn("in.npy: float32 of shape (3, 8)", message)
        np.savez(archive, np.ones((3, 2, 2, 1), "<f4"))
        refuse("has 6 columns but axis 1 of x of shape (3, 8) has length 8")
        np.savez(archive, good.astype("<f8"))
        refuse("f.npz: arr_0.npy: float64 of shape (4, 2, 2, 1): a factor has the element type of the array")
        np.savez(archive, good[..., 0])
        refuse("arr_0.npy: float32 of shape (4, 2, 2) is not of a shape (a, b, c, d), and no --pattern is given")
        refuse("does not hold a factor of pattern (4, 2, 1, 1)", "--pattern", "4,2,1,1")
        refuse("holds 1 arrays, but 2 patterns are given", "--pattern", "4,2,2,1", "--pattern", "4,2,2,1")
        for pattern in "4,2,2", "4,2,2,1,1", "4,2,2,x", "4,2,2,-1", "", "4,,2,1", "4,2,2,1,":
            refuse("--pattern", "--pattern", pattern)
        np.savez(archive, np.ones(8, "<f4"))
        refuse("is of no shape (a, b, c, d), (a, b, c) or (b, c)", "--pattern", "1,8,8,1")
        np.savez(archive, good, np.array([{"a": 1}], object))
        refuse("arr_1.npy: Python objects")
        np.savez(archive)
        refuse("f.npz: ")
        np.savez(archive, *[good] * 65)
        refuse("f.npz: holds 65 arrays; at most 64 are taken")
        np.savez(archive, good)
        refuse("axis = 2 is outside", "--axis", 2)
        refuse("scale = inf", "--scale", "inf")
        refuse("--device cuda: ", "--device", "cuda")
        for permutation in np.arange(7), np.arange(8.0), np.arange(8)[None]:
            name = self.save(permutation, "p.npy")
            refuse("was given as permutation, which is int64 of shape (8)", "--permutation", name)
        for permutation, text in (([0, 1, 2, 3, 4, 5, 6, 8], "entry 7 is 8, outside"),
                                  ([0, 1, 2, 3, 4, 5, 6, 0], "entry 7 is 0, which has come before"),
                                  ([0, -1, 2, 3, 4, 5, 6, 7], "entry 1 is -1, outside")):
            refuse("p.npy: " + text, "--permutation", self.save(np.array(permutation), "p.npy"))
        folder = self.folder / "empty"
        folder.mkdir()
        refuse("empty: holds no .npy files", factors=folder)
        np.save(folder / "a.npy", good)
        (folder / "b.npy").write_bytes(b"nothing")
        refuse("empty/b.npy: is not an .npy file", factors=folder)
        os.remove(folder / "b.npy")
        os.mkdir(folder / "b.npy")
        refuse("empty/b.npy: is not a regular file", factors=folder)

    def test_broken_archives(self):
        self.needs_archives()
        source = self.save(np.ones((3, 8), "<f4"))
        archive = pathlib.Path(self.path("f.npz"))
        factor = self.random.standard_normal((4, 2, 2, 1)).astype("<f4")
        command = "butterfly", source, "-o", self.path("out.npy"), "--factors", archive

        def refuse(text):
            return self.fail_with(text, *command)

        for contents in b"", b"PK", b"PK\x03\x04", b"\x93NUMPY", b"1 2 3\n" * 50:
            archive.write_bytes(contents)
            refuse("f.npz: is neither a folder nor a readable .npz file")
        for save in np.savez, np.savez_compressed:
            save(archive, factor)
            whole = archive.read_bytes()
            for length in range(0, len(whole), 7):
                archive.write_bytes(whole[:length])
                refuse("f.npz: ")
            # Within the data, whose checksum is then another or which cannot be inflated.
            middle = whole.index(b"PK\x01\x02") - 10
            archive.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1:])
            refuse("f.npz: arr_0.npy: ")
        # Any byte changed: an error, or the same factor, where the byte says nothing about it.
        self.succeed(*command[:-1], self.save_archive(archive, factor), "--force")
        expected = pathlib.Path(self.path("out.npy")).read_bytes()
        whole = archive.read_bytes()
        for position in range(len(whole)):
            archive.write_bytes(whole[:position] + bytes([whole[position] ^ 0x15]) + whole[position + 1:])
            result = self.run_command(*command, "--force")
            self.assertIn(result.returncode, (0, 2), position)
            if result.returncode == 0:
                self.assertEqual(pathlib.Path(self.path("out.npy")).read_bytes(), expected, position)
            else:
                self.assertTrue(result.stderr.startswith(b"papillon: "), position)
        os.remove(self.path("out.npy"))

        def write_entries(*entries):
            with zipfile.ZipFile(archive, "w") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name, contents in entries:
                    file.writestr(name, contents)

        write_entries(("readme.txt", b"no factor"))
        refuse("f.npz: readme.txt: is no .npy file")
        write_entries(("a.npy", b"no factor either"))
        refuse("f.npz: a.npy: is not an .npy file")
        whole = pathlib.Path(source).read_bytes()
        write_entries(("a.npy", whole), ("a.npy", whole))
        refuse("f.npz: a.npy: comes twice")
        write_entries(("a.npy", whole[:-1]))
        refuse("f.npz: a.npy: truncated data")

    def save_archive(self, name, factor):
        np.savez_compressed(name, factor)
        return name

    def test_explain(self):
        self.needs_archives()
        def text(*arguments):
            return self.succeed("explain", "butterfly", *arguments)

        stages = [word for i in range(10) for word in ("--pattern", f"{2**i},2,2,{2**(9 - i)}")]
        plain = text(*stages, "--shape", "100,1024")
        self.assertIn("1024 x 1024 matrix as 10 factors, float32, 100 columns", plain)
        self.assertIn(f"multiply-adds: {100 * 20480} (20480 a column; the dense matrix 1048576)", plain)
        self.assertIn("bytes moved: ", plain)
        self.assertIn("workspace: ", plain)
        self.assertIn("6 x 4 matrix as 1 factor", text("--pattern", "2,3,2,1"))
        self.assertIn("4 x 6 matrix as 1 factor", text("--pattern", "2,3,2,1", "--adjoint"))
        self.assertRegex(text("--pattern", "2,3,2,1", "--arch", "sm_90"), r"kernel: butterfly \(|no CUDA backend\n")
        pairs = [word for d in range(9) for word in ("--pattern", f"{256 >> d},2,2,{1 << d}")]
        self.assertRegex(text(*pairs, "--arch", "sm_90"),
                         r"kernel: butterfly_pairs \(.*: 3 3 3\n|no CUDA backend\n")
        source = self.save(np.zeros((7, 4, 5), "<c8"))
        np.savez(self.path("f.npz"), np.zeros((2, 3, 2, 1), "<c8"))
        self.assertIn("6 x 4 matrix as 1 factor, complex64, 35 columns",
                      text("--input", source, "--axis", 1, "--factors", self.path("f.npz")))
        self.fail_with("--factors or --pattern is required", "explain", "butterfly", "--shape", "4")
        self.fail_with("factors[0] of pattern (2, 3, 2, 1) has 4 columns but", "explain", "butterfly", "--pattern",
                       "2,3,2,1", "--pattern", "2,3,2,1")
        self.fail_with("has 4 columns but axis 0 of x", "explain", "butterfly", "--pattern", "2,3,2,1", "--shape", 5)


# Elements and scales of block-scaled formats, from the definitions of the formats. Tables hold the values of the
# codes without sign, in rising order.
class MatrixProducts(CommandTest):
    ROUNDOFF = {"f2": 2.0**-24, "f4": 2.0**-24, "f8": 2.0**-53, "c8": 2.0**-24, "c16": 2.0**-53}

    def multiply(self, a, b, *arguments, c=None):
        """What the command makes of two arrays, and what it prints; bfloat16 as its bits in a 2-byte void."""
        names = [self.save(a, "a.npy"), self.save(b, "b.npy")]
        added = [] if c is None else ["--c", self.save(c, "c0.npy")]
        text = self.succeed("gemm", *names, "-o", self.path("out.npy"), "--force", *added, *arguments)
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted({"a.npy", "b.npy", "out.npy"} | ({"c0.npy"} if c is not None else set())))
        return np.load(self.path("out.npy")), text

    def normal(self, shape, dtype):
        x = self.random.standard_normal(shape)
        if dtype[-2:] in ("c8", "16"):
            x = x + 1j * self.random.standard_normal(shape)
        return x.astype(dtype)

    def small(self, shape, dtype, order="C"):
        x = self.random.integers(-3, 4, shape).astype(dtype)
        if np.dtype(dtype).kind == "c":
            x = x + (1j * self.random.integers(-3, 4, shape)).astype(dtype)
        return np.asarray(x, dtype, order=order)

    def bound_of(self, text):
        return float(next(line for line in text.splitlines() if line.startswith("error bound: ")).split()[2])

    def assert_close(self, c, a, b, text, scale=1.0):
        """The printed bound holds, with C's own rounding added."""
        exact = np.matmul(a.astype(np.complex128), b.astype(np.complex128)) * scale
        unit = self.ROUNDOFF[a.dtype.str[1:]]
        parts = 3 if a.dtype.kind == "c" else 1
        bound = parts * self.bound_of(text) * unit * abs(scale) * abs(a).max() * abs(b).max()
        rounding = abs(exact) * 2.0**-11 if c.dtype == np.float16 else 0
        # The reference rounds too, to 53 bits: its own bound, k u |A| |B|, is added.
        reference = 4 * a.shape[-1] * 2.0**-53 * np.matmul(abs(a).astype(float), abs(b).astype(float))
        self.assertTrue(np.all(abs(c - exact) <= bound + 1.01 * rounding + reference),
                        f"{abs(c - exact).max()} > {bound}")

    def test_integers_are_exact(self):
        # Every sum is exact in every type, whatever the algorithm, so the result is NumPy's bit for bit.
        choices = [(), ("--algorithm", "classical"), ("--algorithm", "strassen", "--levels", 2),
                   ("--algorithm", "winograd", "--levels", 1), ("--table", "hopcroft-kerr"),
                   ("--table", "strassen-squared"), ("--algorithm", "table", "--table", "hopcroft-kerr,winograd")]
        for dtype, arguments in itertools.product(FLOATS + COMPLEX, choices):
            for (m, k, n), orders in zip([(1, 1, 1), (7, 5, 9), (33, 40, 29), (64, 31, 12)], ["CC", "CF", "FC", "FF"]):
                a, b = self.small((m, k), dtype, orders[0]), self.small((k, n), dtype, orders[1])
                c, _ = self.multiply(a, b, *arguments)
                self.assertEqual((c.dtype, c.flags.c_contiguous), (np.dtype(dtype), True))
                expected = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
                self.assertTrue(np.array_equal(c, expected), (dtype, arguments, m, k, n, orders))

    def test_operations(self):
        change = {"none": lambda x: x, "transpose": lambda x: x.T, "conjugate": np.conj,
                  "conjugate-transpose": lambda x: x.conj().T}
        for dtype, (ta, fa), (tb, fb) in itertools.product(["<f4", "<c16"], change.items(), change.items()):
            for order in "CF":
                a = fa(self.small((9, 6), dtype)).copy(order)
                b = fb(self.small((6, 11), dtype)).copy(order)
                c, _ = self.multiply(a, b, "--trans-a", ta, "--trans-b", tb)
                self.assertTrue(np.array_equal(c, fa(a) @ fb(b)), (dtype, ta, tb, order))

    def test_alpha_and_beta(self):
        for dtype, order in itertools.product(FLOATS + COMPLEX, "CF"):
            a, b, c0 = self.small((8, 5), dtype), self.small((5, 6), dtype), self.small((8, 6), dtype, order)
            product = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
            c, _ = self.multiply(a, b, "--alpha", "-2", "--beta", "0.5", c=c0)
            self.assertEqual(c.flags.f_contiguous, order == "F")
            self.assertTrue(np.array_equal(c, -2 * product + 0.5 * c0.astype(np.complex128)), (dtype, order))
            # Strassen adds its products to what is there.
            c, _ = self.multiply(a, b, "--beta", "-1", "--algorithm", "strassen", "--levels", 2, c=c0)
            self.assertTrue(np.array_equal(c, product - c0.astype(np.complex128)), (dtype, order))
        a, b, c0 = self.small((4, 3), "<c8"), self.small((3, 2), "<c8"), self.small((4, 2), "<c8")
        c, _ = self.multiply(a, b, "--alpha", "0.5,-2", "--beta", "-1,3", c=c0)
        self.assertTrue(np.array_equal(c, (0.5 - 2j) * (a @ b) + (-1 + 3j) * c0))
        # What is multiplied by 0 is not read.
        c, _ = self.multiply(a, b, "--beta", 0, c=np.full((4, 2), np.nan, "<c8"))
        self.assertTrue(np.array_equal(c, a @ b))
        c, _ = self.multiply(np.full((4, 3), np.nan, "<c8"), b, "--alpha", 0, "--beta", 2, c=c0)
        self.assertTrue(np.array_equal(c, 2 * c0))

    def test_16_bit(self):
        a, b = self.small((20, 33), "<f4"), self.small((33, 17), "<f4")
        exact = a @ b
        for algorithm in "classical", "strassen", "winograd":
            c, _ = self.multiply(a.astype("<f2"), b.astype("<f2"), "--algorithm", algorithm, "--out-dtype", "float32")
            self.assertEqual(c.dtype, np.float32)
            self.assertTrue(np.array_equal(c, exact))
            void = [to_bfloat16(x).view("V2") for x in (a, b)]
            c, text = self.multiply(*void, "--algorithm", algorithm, "--out-dtype", "f4")
            self.assertIn("bfloat16 to float32", text)
            self.assertTrue(np.array_equal(c, exact))
            c, _ = self.multiply(*void, "--algorithm", algorithm)
            self.assertEqual(c.dtype, np.dtype("V2"))
            self.assertTrue(np.array_equal(c.view(np.uint16), to_bfloat16(exact)))
        # C0 is of C's type.
        c0 = self.small((20, 17), "<f4")
        c, _ = self.multiply(a.astype("<f2"), b.astype("<f2"), "--out-dtype", "f4", "--beta", 3, c=c0)
        self.assertTrue(np.array_equal(c, exact + 3 * c0))

    def test_error_bound(self):
        choices = [("classical",), ("strassen", "--levels", 1), ("strassen", "--levels", 3), ("winograd", "--levels", 2)]
        for dtype, choice in itertools.product(FLOATS + COMPLEX, choices):
            choice += ("--device", "cpu")  # GPUs round sums of 16-bit blocks to 16 bits
            a, b = self.normal((150, 201), dtype), self.normal((201, 93), dtype)
            c, text = self.multiply(a, b, "--algorithm", *choice)
            self.assert_close(c, a, b, text)
            if choice[0] == "classical":  # element by element too
                gamma = (3 if np.dtype(dtype).kind == "c" else 1) * 205 * self.ROUNDOFF[dtype[1:]]
                wide = np.complex128
                bound = gamma * np.matmul(abs(a).astype(float), abs(b).astype(float)) * (2 if dtype == "<f8" else 1)
                exact = np.matmul(a.astype(wide), b.astype(wide))
                bound += abs(exact) * (2.0**-11 if dtype == "<f2" else 0)
                self.assertTrue(np.all(abs(c - exact) <= 1.001 * bound), dtype)
            c, text = self.multiply(a, b, "--alpha", -0.3, "--algorithm", *choice)
            self.assert_close(c, a, b, text, -0.3)

    def test_batches(self):
        for dtype in "<f4", "<c8":
            a, b = self.small((5, 4, 6), dtype), self.small((5, 6, 3), dtype, "F")
            self.assertTrue(np.array_equal(self.multiply(a, b)[0], np.matmul(a, b)))
            c, text = self.multiply(a, b[2])
            self.assertTrue(np.array_equal(c, np.matmul(a, b[2])))
            self.assertIn("batch of 5", text)
            self.assertTrue(np.array_equal(self.multiply(a[1], b)[0], np.matmul(a[1], b)))
            turned = self.multiply(b, a, "--trans-a", "transpose", "--trans-b", "transpose")[0]
            self.assertTrue(np.array_equal(turned, np.matmul(a, b).transpose(0, 2, 1)))
            c0 = self.small((5, 4, 3), dtype, "F")
            self.assertTrue(np.array_equal(self.multiply(a, b, "--beta", 1, c=c0)[0], np.matmul(a, b) + c0))
            os.remove(self.path("c0.npy"))

    def test_empty(self):
        for m, k, n in (0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0):
            c, text = self.multiply(np.ones((m, k), "<f4"), np.ones((k, n), "<f4"))
            self.assertTrue(np.array_equal(c, np.zeros((m, n), "<f4")))
            self.assertIn("nothing to multiply", text)

    def test_summary(self):
        a = self.normal((64, 48), "<f8")
        _, text = self.multiply(a, a.T, "--algorithm", "strassen", "--levels", 2)
        self.assertIn("64 x 48 times 48 x 64, float64\n", text)
        self.assertIn("algorithm: 2 levels, strassen <2,2,2; 7> strassen <2,2,2; 7>\n", text)
        self.assertIn("49 products", text)
        self.assertRegex(text, r"\nerror bound: \S+ u \|alpha\| max\|A\| max\|B\|\n")
        self.assertRegex(text, r"\ntime: \S+ us, \S+ operations of a classical product a second\n$")
        self.assertIn("algorithm: classical\n", self.multiply(a, a.T)[1])
        self.assertIn("1 level, winograd", self.multiply(a, a.T, "--algorithm", "winograd")[1])
        self.assertIn("algorithm: classical\n", self.multiply(a, a.T, "--algorithm", "strassen", "--levels", 0)[1])
        # Levels of one product are not more than there is to cut.
        self.assertIn("1 level,", self.multiply(a[:, :2], a[:2], "--algorithm", "strassen", "--levels", 4)[1])

    def test_threads_give_the_same_bytes(self):
        a, b = self.normal((517, 300), "<f4"), self.normal((300, 411), "<f4")
        for algorithm in "classical", "strassen":
            one = self.multiply(a, b, "--threads", 1, "--algorithm", algorithm)[0]
            self.assertEqual(one.tobytes(), self.multiply(a, b, "--threads", 2, "--algorithm", algorithm)[0].tobytes())

    def test_unaligned(self):
        a, b = self.small((9, 6), "<f8"), self.small((6, 4), "<f8")
        name = self.save(b, "b.npy")
        for padding in range(8):
            text = "{'descr': '<f8', 'fortran_order': False, 'shape': (9, 6)}" + " " * padding
            header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
            pathlib.Path(self.path("a.npy")).write_bytes(header + a.tobytes())
            self.succeed("gemm", self.path("a.npy"), name, "-o", self.path("out.npy"), "--force")
            self.assertTrue(np.array_equal(np.load(self.path("out.npy")), a @ b))

    def test_nan_spreads_with_levels_only(self):
        a, b = self.normal((8, 8), "<f8"), self.normal((8, 8), "<f8")
        a[0, 0] = np.nan
        c, _ = self.multiply(a, b, "--algorithm", "classical")
        self.assertTrue(np.array_equal(np.isnan(c), np.arange(8)[:, None] + np.zeros(8) == 0))
        # A11, which holds it, is a term of M1, M3, M5 and M6 of Strassen, of which C22 takes too, and of M1, M2, M4
        # and M6 of Winograd, of which C21 and C22 take.
        spread = np.zeros((8, 8), bool)
        spread[0] = spread[4, 4:] = True
        c, _ = self.multiply(a, b, "--algorithm", "strassen", "--levels", 1)
        self.assertTrue(np.array_equal(np.isnan(c), spread))
        spread[4] = True
        c, _ = self.multiply(a, b, "--algorithm", "winograd", "--levels", 1)
        self.assertTrue(np.array_equal(np.isnan(c), spread))

    def definition(self):
        """<2,2,2; 8>: the definition, as a table."""
        u, v, w = [], [], []
        for i, l, j in itertools.product(range(2), repeat=3):
            for table, place in ((u, 2 * i + l), (v, 2 * l + j), (w, 2 * i + j)):
                table.append([int(c == place) for c in range(4)])
        return {"name": "definition", "m": 2, "k": 2, "n": 2, "rank": 8, "u": u, "v": v, "w": w}

    def save_table(self, table, name="t.json"):
        pathlib.Path(self.path(name)).write_text(table if isinstance(table, str) else json.dumps(table))
        return self.path(name)

    def test_table_files(self):
        a, b = self.small((11, 6), "<f4"), self.small((6, 9), "<f4")
        flat = {key: [int(x) for x in np.ravel(value)] if key in "uvw" else value
                for key, value in self.definition().items()}
        names = [self.save(a, "a.npy"), self.save(b, "b.npy")]
        for table in self.definition(), flat:
            text = self.succeed("gemm", *names, "-o", self.path("out.npy"), "--force", "--table",
                                self.save_table(table) + ",strassen")
            self.assertIn("2 levels, definition <2,2,2; 8> strassen <2,2,2; 7>\n", text)
            self.assertIn("56 products", text)
            self.assertTrue(np.array_equal(np.load(self.path("out.npy")), a @ b))

    def test_table_errors(self):
        names = [self.save(np.ones((4, 4), "<f4"), "a.npy"), self.save(np.ones((4, 4), "<f4"), "b.npy")]

        def refuse(text, table):
            name = self.save_table(table)
            self.fail_with("t.json: " + text, "gemm", *names, "-o", self.path("out.npy"), "--table", name)
            self.fail_with("t.json: " + text, "explain", "gemm", "--m", 4, "--n", 4, "--k", 4, "--table", name)

        good = self.definition()
        for key in good:
            refuse(f'has no "{key}"', {k: value for k, value in good.items() if k != key})
        refuse("is no JSON", "{")
        refuse("holds no JSON object", "[]")
        refuse('"name" is no text', good | {"name": 3})
        refuse("m holds 0; integers from 1 to", good | {"m": 0})
        refuse("k holds 2.5; integers from 1 to", good | {"k": 2.5})
        refuse('rank holds "8"; integers', good | {"rank": "8"})
        refuse('"u" is no list', good | {"u": 1})
        refuse("v holds 128; integers from -127 to 127", good | {"v": [[128]]})
        refuse("w holds true; integers", good | {"w": [True]})
        refuse("is not an algorithm for matrix products: u has 28 entries instead of 8 * 2 * 2 = 32",
               good | {"u": good["u"][1:]})
        wrong = json.loads(json.dumps(good))
        wrong["w"][0][0] = -1
        refuse("is not an algorithm for matrix products: C[0,0] gets -1 A[0,0] B[0,0] instead of 1", wrong)
        wrong["w"][0] = [1, 1, 0, 0]
        refuse("is not an algorithm for matrix products: C[0,1] gets 1 A[0,0] B[0,0] instead of 0", wrong)
        self.fail_with("cannot be opened: No such file or directory (it is none of strassen, winograd",
                       "gemm", *names, "-o", self.path("out.npy"), "--table", "laderman")

    def test_outputs(self):
        a = self.save(np.eye(4, dtype="<f4"), "a.npy")
        b = self.save(2 * np.eye(4, dtype="<f4"), "b.npy")
        self.fail_with("a.npy: exists already (--force overwrites it)", "gemm", a, b, "-o", a)
        self.fail_with("b.npy: exists already (--force overwrites it)", "gemm", a, b, "-o", b)
        self.fail_with("No such file or directory", "gemm", a, b, "-o", self.path("none/out.npy"))
        self.fail_with("is not a regular file", "gemm", a, b, "-o", self.folder, "--force")
        self.fail_with("cannot reserve", "gemm", self.save(np.ones((512, 4), "<f4"), "long.npy"),
                       self.save(np.ones((4, 1024), "<f4"), "wide.npy"), "-o", self.path("out.npy"),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.succeed("gemm", a, b, "-o", b, "--force")
        self.assertTrue(np.array_equal(np.load(b), 2 * np.eye(4)))
        self.succeed("gemm", a, b, "-o", b, "--force", "--beta", 1, "--c", b)
        self.assertTrue(np.array_equal(np.load(b), 4 * np.eye(4)))

    def test_errors(self):
        a = self.save(np.ones((3, 4), "<f4"), "a.npy")
        b = self.save(np.ones((4, 5), "<f4"), "b.npy")

        def refuse(text, *arguments, operands=(a, b)):
            return self.fail_with(text, "gemm", *operands, "-o", self.path("out.npy"), *arguments)

        def other(array):
            return self.save(array, "x.npy")

        message = refuse("A of shape (3, 4) times B of shape (3, 4) does not give", operands=(a, a))
        self.assertIn("a.npy and ", message)
        refuse("A of shape (3, 4) (transposed) times B of shape (4, 5)", "--trans-a", "transpose")
        refuse("A of shape (3, 4) times B of shape (4, 5) (conjugate transposed)", "--trans-b", "conjugate-transpose")
        refuse("x.npy: float32 of shape (5, 4, 2) has 5 matrices but ",
               operands=(other(np.ones((5, 4, 2), "<f4")), self.save(np.ones((6, 2, 3), "<f4"), "y.npy")))
        for shape in (4,), (1, 1, 4, 4):
            refuse("is no matrix and no batch of matrices", operands=(a, other(np.ones(shape, "<f4"))))
        refuse("rank 0", operands=(a, other(np.float32(1))))
        refuse("A holds float32 but B holds float64", operands=(a, other(np.ones((4, 5)))))
        refuse("A holds int32; products of real and complex numbers", operands=(other(np.ones((4, 4), "<i4")), ) * 2)
        refuse("int8 of shape (4, 4) cannot be transformed", operands=(other(np.ones((4, 4), "i1")), ) * 2)
        refuse("A holds float32 but C holds float64", "--out-dtype", "f8")
        refuse("A holds float16 but C holds bfloat16; that or float32 is taken", "--out-dtype", "bf16",
               operands=(other(np.ones((4, 4), "<f2")), ) * 2)
        refuse("--out-dtype: f3 is none of", "--out-dtype", "f3")
        refuse("alpha = (1,2) is complex but A holds float32", "--alpha", "1,2")
        refuse("--beta requires --c", "--beta", "1")
        refuse("--c requires --beta", "--c", b)
        refuse("x.npy: float32 of shape (5, 3) but the product is float32 of shape (3, 5)", "--beta", 1, "--c",
               other(np.ones((5, 3), "<f4")))
        refuse("x.npy: float64 of shape (3, 5) but the product is float32 of shape (3, 5)", "--beta", 1, "--c",
               other(np.ones((3, 5))))
        refuse("none.npy: cannot be opened", "--beta", 1, "--c", self.path("none.npy"))
        for text in "x", "1,", ",1", "1,2,3", "":
            refuse("--alpha: '" + text + "' is no number", "--alpha", text)
        refuse("--levels: -1 is less than 0", "--levels", -1)
        refuse("--levels", "--levels", "1.5")
        refuse("--max-workspace: -1 is less than 0", "--max-workspace", -1)
        refuse("--algorithm", "--algorithm", "fast")
        refuse("--trans-a", "--trans-a", "t")
        refuse("algorithm is table but tables is empty", "--algorithm", "table")
        refuse("tables has 1 entries but algorithm is not table", "--algorithm", "strassen", "--table", "winograd")
        refuse("takes more than 16807 products", "--algorithm", "strassen", "--levels", 6,
               operands=(other(np.ones((80, 80), "<f4")), ) * 2)
        refuse("--device cuda: A holds complex64", "--device", "cuda", operands=(other(np.ones((4, 4), "<c8")), ) * 2)
        refuse("--threads", "--threads", 0)
        refuse("b is required", operands=(a, ))
        refuse("none.npy: cannot be opened: No such file", operands=(self.path("none.npy"), b))
        whole = pathlib.Path(a).read_bytes()
        pathlib.Path(self.path("x.npy")).write_bytes(whole[:-1])
        refuse("x.npy: truncated data", operands=(self.path("x.npy"), b))

    def test_explain(self):
        def text(*arguments, m=4096, n=4096, k=4096):
            return self.succeed("explain", "gemm", "--m", m, "--n", n, "--k", k, *arguments)

        classical = text("--algorithm", "classical")
        self.assertIn("4096 x 4096 times 4096 x 4096, float32\nalgorithm: classical\n", classical)
        self.assertIn("operations: 1.374e+11, of a classical product 1.374e+11\n", classical)
        self.assertIn(f"error bound: {4096**2:.4g} u |alpha| max|A| max|B|\n", classical)
        self.assertIn("predicted time: ", classical)
        strassen = text("--algorithm", "strassen", "--levels", 2, "--dtype", "f8")
        self.assertIn("blocks: 1024 x 1024 times 1024 x 1024, 49 products", strassen)
        self.assertGreater(self.bound_of(strassen), self.bound_of(classical))
        # Odd sizes are filled up in blocks; levels may differ.
        mixed = text("--table", "hopcroft-kerr,strassen", m=3001, n=4000, k=2000)
        self.assertIn("hopcroft-kerr <3,2,3; 15> strassen <2,2,2; 7>\nblocks: 501 x 500 times 500 x 667", mixed)
        # Types that automatic leaves classical, whatever the size.
        for dtype in "f2", "bf16", "c8", "c16":
            self.assertIn("algorithm: classical\n", text("--dtype", dtype, m=1 << 16, n=1 << 16, k=1 << 16))
        for dtype in "f4", "f8":
            self.assertIn("algorithm: classical\n", text("--dtype", dtype, m=256, n=256, k=256))
            self.assertRegex(text("--dtype", dtype, m=1 << 16, n=1 << 16, k=1 << 16), "algorithm: . levels?, strassen")
        batch = text("--batch", 7, "--dtype", "bf16", "--out-dtype", "f4", m=3, n=5, k=7)
        self.assertIn("3 x 7 times 7 x 5, bfloat16 to float32, batch of 7\n", batch)
        self.assertEqual(text("--trans-a", "transpose", m=30, n=40, k=50), text(m=30, n=40, k=50))
        self.assertIn("nothing to multiply", text(m=0))

    def test_explain_is_what_runs(self):
        a, b = self.normal((100, 90), "<f4"), self.normal((90, 80), "<f4")
        for choice in ((), ("--algorithm", "winograd", "--levels", 2), ("--table", "hopcroft-kerr")):
            _, text = self.multiply(a, b, *choice, "--device", "cpu")
            explained = self.succeed("explain", "gemm", "--m", 100, "--n", 80, "--k", 90, *choice)
            self.assertEqual(text[:text.index("time: ", text.index("predicted time") + 12)], explained)

    def test_explain_errors(self):
        sizes = "--m", 4, "--n", 4, "--k", 4
        self.fail_with("--k is required", "explain", "gemm", "--m", 4, "--n", 4)
        self.fail_with("--m: -1 is less than 0", "explain", "gemm", "--m", -1, "--n", 4, "--k", 4)
        self.fail_with("--batch: 0 is less than 1", "explain", "gemm", *sizes, "--batch", 0)
        self.fail_with("A holds int32; products of real", "explain", "gemm", *sizes, "--dtype", "i4")
        self.fail_with("--dtype", "explain", "gemm", *sizes, "--dtype", "f3")
        self.fail_with("A holds float32 but C holds float64", "explain", "gemm", *sizes, "--out-dtype", "f8")
        self.fail_with("2^63", "explain", "gemm", "--m", 1 << 40, "--n", 4, "--k", 1 << 40)
        result = self.run_command("explain", "gemm", *map(str, sizes), "--device", "cuda")
        if result.returncode != 0:
            self.assertEqual(result.stderr, b"papillon: --device cuda: this build has no CUDA backend\n")
        else:
            self.assertIn(b"4 x 4 times 4 x 4, float32\n", result.stdout)


def small_float_values(exponent_bits, mantissa_bits, bias, count):
    codes = np.arange(count)
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    fraction = mantissa / (1 << mantissa_bits)
    return np.where(exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, exponent - bias))


ELEMENTS = {  # values of the codes, the bit of the sign
    "e2m1": (small_float_values(2, 1, 1, 8), 0x8),
    "e4m3": (small_float_values(4, 3, 7, 127), 0x80),
    "e5m2": (small_float_values(5, 2, 15, 124), 0x80),
}
FORMATS = {  # elements, block (None: as asked), name in the library
    "nvfp4": ("e2m1", 16, "nvfp4"), "mxfp4": ("e2m1", 32, "mxfp4"), "mxfp8": ("e4m3", 32, "mxfp8_e4m3"),
    "mxfp8_e5m2": ("e5m2", 32, "mxfp8_e5m2"), "fp8": ("e4m3", None, "fp8_e4m3"),
    "fp8_e5m2": ("e5m2", None, "fp8_e5m2"), "int8": ("int8", None, "int8"), "int4": ("int4", None, "int4"),
}
LARGEST = {"e2m1": 6.0, "e4m3": 448.0, "e5m2": 57344.0, "int8": 127.0, "int4": 7.0}


def encode_elements(values, element):
    """Codes of finite float32 values: to nearest, ties to even, the largest beyond it."""
    values = values.astype(np.float64)
    if element.startswith("int"):
        limit = int(LARGEST[element])
        codes = np.clip(np.rint(values), -limit, limit).astype(np.int64)
        return (codes & (0xFF if element == "int8" else 0xF)).astype(np.uint8)
    table, sign = ELEMENTS[element]
    magnitude = np.abs(values)
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    middle = (table[above - 1] + table[above]) / 2
    upper = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    return (np.where(upper, above, above - 1) | np.where(np.signbit(values), sign, 0)).astype(np.uint8)


def decode_elements(codes, element):
    codes = codes.astype(np.int64)
    if element.startswith("int"):
        bits = 8 if element == "int8" else 4
        return np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes).astype(np.float32)
    table, sign = ELEMENTS[element]
    return np.where(codes & sign, -table[codes & (sign - 1)], table[codes & (sign - 1)]).astype(np.float32)


def swizzled_place(row, column, columns):
    """Where the scale of a row and a block lies: tiles of 128 x 4, of four groups of 32 rows side by side."""
    tile = row // 128 * -(-columns // 4) + column // 4
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4


def swizzle(scales):
    rows, columns = scales.shape
    padded = np.zeros(-(-rows // 128) * 128 * -(-columns // 4) * 4, scales.dtype)
    for row in range(rows):
        for column in range(columns):
            padded[swizzled_place(row, column, columns)] = scales[row, column]
    return padded.reshape(-(-rows // 128) * 128, -(-columns // 4) * 4)


def rotate(y, group, seed=None):
    """I x H_g / sqrt(g) along the last axis of float32 values, signs first."""
    if group == 0:
        return y
    groups = y.reshape(*y.shape[:-1], -1, group)
    if seed is not None:
        groups = groups * splitmix64_signs(seed, group).astype(np.float32)
    return (butterfly(groups) * np.float32(1 / np.sqrt(group))).reshape(y.shape)


def quantize_rows(y, name, rule=None, block=None, square=False, global_scale=None):
    """Codes, scales and global scale of the rows of a float32 matrix, all arithmetic in float32."""
    element, own_block, _ = FORMATS[name]
    rows, n = y.shape
    block = own_block or min(block or n, n)
    blocks = -(-n // block)
    padded = np.zeros((rows, blocks * block), np.float32)
    padded[:, :n] = y
    amax = np.abs(padded).reshape(rows, blocks, block).max(2)
    if square:
        for first in range(0, rows, block):
            amax[first:first + block] = amax[first:first + block].max(0)
    one, six, largest = np.float32(1), np.float32(6), np.float32(LARGEST[element])
    multiplier = None
    if name == "nvfp4":
        top = np.abs(y).max(initial=0)
        if rule == "transformer-engine":
            encode = np.float32(2688) / top if global_scale is None else one / np.float32(global_scale)
            global_scale = one / encode if global_scale is None else np.float32(global_scale)
            scales = encode_elements(np.minimum(amax * (encode * (one / six)), np.float32(448)), "e4m3")
            with np.errstate(divide="ignore"):
                multiplier = one / (decode_elements(scales, "e4m3") * global_scale)
        else:
            global_scale = top / np.float32(2688) if global_scale is None else np.float32(global_scale)
            scales = encode_elements(amax / six / global_scale, "e4m3")
        factors = decode_elements(scales, "e4m3") * global_scale
    elif name.startswith("mx"):
        with np.errstate(divide="ignore"):
            exponent = np.frexp(amax)[1] - 1 - {"e2m1": 2, "e4m3": 8, "e5m2": 15}[element]
            if rule == "round-up":
                exponent = np.ceil(np.log2((amax / largest).astype(np.float64))).astype(np.int64)
        scales = np.where(amax == 0, 0, np.clip(exponent + 127, 0, 254)).astype(np.uint8)
        factors = np.ldexp(one, scales.astype(np.int64) - 127)
    else:
        scales = factors = amax / largest
    factors = np.repeat(factors, block, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = padded / factors if multiplier is None else padded * np.repeat(multiplier, block, 1)
    codes = np.where(factors == 0, 0, encode_elements(np.where(factors == 0, 0, quotients), element)).astype(np.uint8)
    if multiplier is not None:
        codes[codes == 8] = 0
    values = decode_elements(codes, element) * factors
    if own_block is None:
        codes = codes[:, :n]
    if element in ("e2m1", "int4"):
        if codes.shape[1] % 2:
            codes = np.pad(codes, ((0, 0), (0, 1)))
        codes = codes[:, ::2] | codes[:, 1::2] << 4
    return codes, scales, global_scale, values[:, :n]


SAFETENSORS_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U8": "u1",
                     "F8_E4M3": "u1", "F8_E8M0": "u1"}


def read_safetensors(name):
    """Tensors (of types that NumPy lacks their bits), element types and metadata."""
    contents = pathlib.Path(name).read_bytes()
    length = int.from_bytes(contents[:8], "little")
    header = json.loads(contents[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors, types = {}, {}
    for tensor, entry in header.items():
        begin, end = entry["data_offsets"]
        data = contents[8 + length + begin:8 + length + end]
        tensors[tensor] = np.frombuffer(data, SAFETENSORS_TYPES[entry["dtype"]]).reshape(entry["shape"])
        types[tensor] = entry["dtype"]
    return tensors, types, metadata


def write_safetensors(name, tensors, metadata=None):
    """`tensors`: by name, an array or (element type, bits)."""
    header, offset, data = {} if metadata is None else {"__metadata__": metadata}, 0, []
    names = {np.dtype(code): dtype for dtype, code in SAFETENSORS_TYPES.items() if dtype[:2] not in ("BF", "F8")}
    for tensor, array in tensors.items():
        dtype, array = array if isinstance(array, tuple) else (names[array.dtype], array)
        end = offset + array.nbytes
        header[tensor] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, end]}
        data.append(array.tobytes())
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(name).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))
    return name


class QuantizationTest(CommandTest):
    def quantize(self, source, *arguments):
        self.succeed("quantize", source, "-o", self.path("q.safetensors"), "--force", *arguments)
        return read_safetensors(self.path("q.safetensors"))

    def dequantize(self, *arguments, output="back.npy"):
        self.succeed("dequantize", self.path("q.safetensors"), "-o", self.path(output), "--force", *arguments)
        return np.load(self.path(output)) if output.endswith(".npy") else read_safetensors(self.path(output))

    def check(self, x, name, *arguments, group=0, seed=None, axis=-1, source=None, swizzled=False, **settings):
        """Every byte that the command makes of an array, and what it makes of these."""
        element = FORMATS[name][0]
        rows = np.moveaxis(np.asarray(x), axis, -1)
        y = rotate(rows.reshape(-1, rows.shape[-1]).astype(np.float32), group, seed)
        codes, scales, global_scale, values = quantize_rows(y, name, **settings)
        tensors, types, metadata = self.quantize(source or self.save(x), "--format", name, "--axis", axis, *arguments)
        self.assertEqual(set(tensors), {"x", "x_scale"} | ({"x_scale_2"} if name == "nvfp4" else set()))
        self.assertEqual(types["x"], "U8")
        self.assertEqual(tensors["x"].shape, rows.shape[:-1] + codes.shape[1:])
        self.assertTrue(np.array_equal(tensors["x"].reshape(codes.shape), codes), (name, arguments))
        self.assertEqual(types["x_scale"], "F8_E4M3" if name == "nvfp4" else "F8_E8M0" if name[:2] == "mx" else "F32")
        if swizzled:
            self.assertTrue(np.array_equal(tensors["x_scale"], swizzle(scales)), (name, arguments))
        else:
            self.assertEqual(tensors["x_scale"].shape, rows.shape[:-1] + scales.shape[1:])
            self.assertTrue(np.array_equal(tensors["x_scale"].reshape(scales.shape), scales), (name, arguments))
        if name == "nvfp4":
            self.assertEqual((types["x_scale_2"], tensors["x_scale_2"].shape), ("F32", ()))
            self.assertEqual(tensors["x_scale_2"], global_scale)
        described = json.loads(metadata["papillon_quantization"])["tensors"]["x"]
        self.assertEqual(described["format"], FORMATS[name][2])
        self.assertEqual((described["shape"], described["axis"]), (list(np.shape(x)), axis % np.ndim(x)))
        self.assertEqual((described["rotation"], described.get("seed")), (group, seed))
        if group:
            values = butterfly(values.reshape(len(y), -1, group)) * np.float32(1 / np.sqrt(group))
            if seed is not None:
                values = values * splitmix64_signs(seed, group).astype(np.float32)
        expected = np.moveaxis(values.reshape(rows.shape), -1, axis)
        return expected, element


class Quantization(QuantizationTest):
    def test_every_format_type_and_rotation(self):
        for name, dtype in itertools.product(FORMATS, FLOATS):
            x = (self.random.standard_normal((7, 96)) * np.exp(self.random.standard_normal((7, 1)))).astype(dtype)
            x[2, 32:64] = 0
            for group, seed in (0, None), (16, None), (32, 5), (16, (1 << 64) - 1):
                if dtype == "<f8" and group:
                    continue  # rotated in double
                arguments = ("--rotate", group) if group else ("--rotate", "none")
                arguments += ("--seed", seed) if seed is not None else ()
                expected, _ = self.check(x, name, *arguments, group=group, seed=seed)
                back = self.dequantize()
                self.assertEqual(back.dtype, x.dtype)
                self.assertTrue(np.array_equal(back, expected.astype(dtype)), (name, dtype, group))
                self.assertTrue(np.array_equal(self.dequantize("--dtype", "float32"), expected))

    def test_whole_rows(self):
        x = self.random.standard_normal((5, 128)).astype(np.float32)
        for name in FORMATS:
            self.check(x, name, "--rotate", "row", group=128)

    def test_double_is_rotated_in_double(self):
        x = self.random.standard_normal((5, 64))
        y = (butterfly(x) * (1 / 8)).astype(np.float32)
        codes, scales, global_scale, _ = quantize_rows(y, "nvfp4")
        tensors, _, _ = self.quantize(self.save(x), "--rotate", 64)
        self.assertTrue(np.array_equal(tensors["x"], codes))
        self.assertTrue(np.array_equal(tensors["x_scale"], scales))
        self.assertEqual(tensors["x_scale_2"], global_scale)
        self.assertEqual(self.dequantize().dtype, np.float64)

    def test_bfloat16(self):
        bits = to_bfloat16(self.random.standard_normal((6, 64)))
        source = self.save(bits.view("V2"))
        for name in FORMATS:
            expected, _ = self.check(from_bfloat16(bits), name, "--rotate", 16, group=16, source=source)
            back = self.dequantize()
            self.assertEqual(back.dtype, np.dtype("V2"))
            self.assertTrue(np.array_equal(back.view(np.uint16), to_bfloat16(expected)), name)

    def test_ragged_rows(self):
        for name, n in itertools.product(FORMATS, (1, 15, 17, 31, 33, 50)):
            expected, _ = self.check(self.random.standard_normal((3, n)).astype(np.float32), name)
            self.assertTrue(np.array_equal(self.dequantize(), expected), (name, n))

    def test_ranks_axes_and_orders(self):
        for shape in (48,), (5, 32), (3, 16, 20), (2, 3, 32, 5):
            for order, axis in itertools.product("CF", range(-len(shape), len(shape))):
                x = np.array(self.random.standard_normal(shape), np.float32, order=order)
                for name in "nvfp4", "mxfp8", "int4":
                    group = 16 if shape[axis] % 16 == 0 else 0
                    arguments = ("--rotate", group) if group else ()
                    expected, _ = self.check(x, name, *arguments, axis=axis, group=group)
                    self.assertTrue(np.array_equal(self.dequantize(), expected), (name, shape, order, axis))

    def test_scale_rules(self):
        x = self.random.standard_normal((40, 64)).astype(np.float32) ** 3
        for name, rule in (("nvfp4", "divide"), ("nvfp4", "transformer-engine"), ("mxfp4", "ocp"),
                           ("mxfp4", "round-up"), ("mxfp8", "round-up"), ("mxfp8_e5m2", "round-up")):
            self.check(x, name, "--scale-rule", rule, rule=rule)
        self.check(x, "fp8", "--scale-rule", "symmetric")

    def test_global_scale(self):
        x = self.random.standard_normal((40, 64)).astype(np.float32)
        for scale, rule in itertools.product((0.001, 0.0001, 0.5), ("divide", "transformer-engine")):
            self.check(x, "nvfp4", "--global-scale", scale, "--scale-rule", rule, global_scale=scale, rule=rule)

    def test_blocks(self):
        x = self.random.standard_normal((20, 96)).astype(np.float32)
        for name, block in itertools.product(("fp8", "fp8_e5m2", "int8", "int4"), (1, 7, 16, 96, 1000)):
            self.check(x, name, "--block", block, block=block)

    def test_square_blocks(self):
        x = self.random.standard_normal((50, 70)).astype(np.float32)
        for name in "nvfp4", "mxfp4", "mxfp8":
            expected, _ = self.check(x, name, "--square-blocks", square=True)
            self.assertTrue(np.array_equal(self.dequantize(), expected))
        self.check(x, "int8", "--square-blocks", "--block", 24, square=True, block=24)

    def test_swizzled_scales(self):
        for shape in (1, 16), (130, 100), (256, 64), (7, 5, 48):
            x = self.random.standard_normal(shape).astype(np.float32)
            for name in "nvfp4", "mxfp4", "mxfp8", "mxfp8_e5m2":
                expected, _ = self.check(x, name, "--scale-layout", "swizzled", swizzled=True)
                self.assertTrue(np.array_equal(self.dequantize(), expected), (name, shape))

    def test_stochastic_rounding(self):
        x = self.random.uniform(-1, 1, (64, 256)).astype(np.float32)
        source = self.save(x)
        for name in FORMATS:
            nearest = self.quantize(source, "--format", name)[0]
            arguments = ("--format", name, "--rounding", "stochastic", "--random-seed", 7)
            first, _, metadata = self.quantize(source, *arguments)
            described = json.loads(metadata["papillon_quantization"])["tensors"]["x"]
            self.assertEqual((described["rounding"], described["random_seed"]), ("stochastic", 7))
            for scale in "x_scale", "x_scale_2":
                if scale in first:
                    self.assertTrue(np.array_equal(first[scale], nearest[scale]))
            again = self.quantize(source, *arguments, "--threads", 2)[0]
            self.assertTrue(np.array_equal(first["x"], again["x"]))
            other = self.quantize(source, *arguments, "--random-offset", 1)[0]
            differing = np.mean(first["x"] != other["x"])
            self.assertGreater(differing, 0.2, name)

    def test_stochastic_rounding_is_right_on_average(self):
        """The mean of 16 roundings comes nearer to x than rounding to nearest, which is off by 0.29 steps: they by
        0.41 at most, over 4."""
        x = self.random.uniform(-1, 1, (64, 256)).astype(np.float32)
        source = self.save(x)
        for name, rule in ("nvfp4", "divide"), ("mxfp8", "round-up"), ("int4", "symmetric"):  # that saturate nothing
            arguments = ("--format", name, "--scale-rule", rule)
            total = np.zeros(x.shape)
            for offset in range(16):
                self.quantize(source, *arguments, "--rounding", "stochastic", "--random-offset", offset)
                total += self.dequantize()
            self.quantize(source, *arguments)
            error = np.linalg.norm(total / 16 - x)
            self.assertLess(error, 0.5 * np.linalg.norm(self.dequantize() - x), name)

    def test_round_trip_is_idempotent(self):
        """The same codes again; scales that are floats may move by an ulp, since 127 (s / 127) need not be s."""
        x = self.random.standard_normal((20, 64)).astype(np.float32)
        for name in FORMATS:
            first = self.quantize(self.save(x), "--format", name)[0]
            values = self.dequantize()
            second = self.quantize(self.save(values), "--format", name)[0]
            self.assertTrue(np.array_equal(first["x"], second["x"]), name)
            if name[:2] == "mx":
                self.assertTrue(np.array_equal(self.dequantize(), values), name)
            self.assertTrue(np.allclose(self.dequantize(), values, rtol=3e-7, atol=0), name)

    def test_parts(self):
        """More rows than are worked on at a time: as from one call."""
        x = self.random.standard_normal((70001, 256), np.float32)
        x[69000, 3] = 40  # the largest is in the last part
        source = self.save(x)
        for name in "nvfp4", "mxfp8", "int8":
            expected, _ = self.check(x, name, "--rotate", 16, "--threads", 2, group=16, source=source)
            self.assertTrue(np.array_equal(self.dequantize(), expected), name)
        tensors, _, _ = self.quantize(source, "--scale-layout", "swizzled")
        scales = quantize_rows(x, "nvfp4")[1]
        for row in 0, 1, 127, 128, 65535, 65536, 69000, 70000:
            places = [swizzled_place(row, column, 16) for column in range(16)]
            self.assertTrue(np.array_equal(tensors["x_scale"].reshape(-1)[places], scales[row]), row)
        self.assertTrue(np.array_equal(self.dequantize(), quantize_rows(x, "nvfp4")[3]))
        self.check(x, "nvfp4", "--square-blocks", square=True, source=source)
        self.check(x, "nvfp4", "--scale-rule", "transformer-engine", rule="transformer-engine", source=source)

    def test_threads_give_the_same_bytes(self):
        source = self.save(self.random.standard_normal((1027, 4096)).astype(np.float32))
        for arguments in ((), ("--rotate", "row", "--format", "mxfp8"), ("--axis", 0, "--format", "int4")):
            contents = []
            for threads in 1, 2:
                self.quantize(source, "--threads", threads, *arguments)
                contents.append(pathlib.Path(self.path("q.safetensors")).read_bytes())
            self.assertTrue(contents[0] == contents[1], arguments)

    def test_empty_arrays(self):
        for shape, name in itertools.product(((0, 32), (4, 0), (0,)), FORMATS):
            self.quantize(self.save(np.zeros(shape, np.float32)), "--format", name)
            self.assertEqual(self.dequantize().shape, shape)

    def test_special_values_are_counted(self):
        x = self.random.standard_normal((4, 64)).astype(np.float32)
        x[0, :3] = np.nan
        x[1, 7] = -np.inf
        for name in FORMATS:
            text = self.succeed("quantize", self.save(x), "-o", self.path("q.safetensors"), "--format", name, "--force")
            self.assertEqual(text, "x: 3 NaN, 1 infinite elements\n")

    def test_errors(self):
        target = self.path("out.safetensors")
        def refuse(text, array, *arguments):
            source = self.save(array)
            return self.fail_with(text, "quantize", source, "-o", target, *arguments)
        floats = np.zeros((4, 48), np.float32)
        self.assertIn("in.npy: float32 of shape (4, 48): ", refuse("axis = 2", floats, "--axis", 2))
        refuse("rotation = 32", floats, "--rotate", 32)
        refuse("signs are given, but rotation = 0", floats, "--seed", 3)
        refuse("scale_rule = ocp is none of nvfp4's", floats, "--scale-rule", "ocp")
        refuse("block = 32 but nvfp4 has blocks of 16", floats, "--block", 32)
        refuse("scale_layout = swizzled is for one-byte scales", floats, "--format", "int8", "--scale-layout", "swizzled")
        refuse("block_shape = square", floats, "--format", "int8", "--square-blocks")
        for scale in "0", "-1", "nan", "inf":
            refuse("global_scale = ", floats, "--global-scale", scale)
        refuse("--global-scale is for nvfp4", floats, "--global-scale", "1", "--format", "mxfp4")
        refuse("--include and --exclude are for safetensors", floats, "--include", "*")
        refuse("are for --study", floats, "--format", "nvfp4,int8")
        refuse("are for --study", floats, "--rotate", "none,16")
        refuse("int32", np.zeros((4, 16), np.int32))
        refuse("complex64", np.zeros((4, 16), np.complex64))
        refuse("rank 5", np.zeros((1,) * 5, np.float32))
        refuse("rank 0", np.float32(1))
        source = self.save(floats)
        self.fail_with("--output is required", "quantize", source)
        for option, value in (("--format", "fp4"), ("--rotate", "0"), ("--rotate", "x"), ("--rotate", ""),
                              ("--scale-rule", "x"), ("--scale-layout", "x"), ("--block", "0"), ("--axis", "x"),
                              ("--rounding", "up"), ("--seed", "-1"), ("--threads", "0"), ("--json", "x"),
                              ("--chart", "x.svg"), ("--random-seed", "1")):
            self.fail_with(option, "quantize", source, "-o", target, option, value)
        self.fail_with("none.npy: cannot be opened", "quantize", self.path("none.npy"), "-o", target)
        self.save(floats, "keep.safetensors")
        self.fail_with("exists already", "quantize", source, "-o", self.path("keep.safetensors"))


class Checkpoints(QuantizationTest):
    def checkpoint(self):
        """Matrices of all floating types, and what is not to be quantised."""
        normal = lambda *shape: self.random.standard_normal(shape)
        self.tensors = {
            "model.layers.0.q_proj.weight": normal(48, 64).astype(np.float32),
            "model.layers.0.k_proj.weight": normal(16, 64).astype(np.float16),
            "model.layers.1.q_proj.weight": ("BF16", to_bfloat16(normal(7, 32))),
            "model.layers.1.k_proj.weight": normal(7, 32),
            "model.embed_tokens.weight": normal(100, 64).astype(np.float32),
            "model.norm.weight": normal(64).astype(np.float32),
            "conv.weight": normal(2, 3, 16).astype(np.float32),
            "position_ids": np.arange(12).reshape(3, 4),
        }
        return write_safetensors(self.path("in.safetensors"), self.tensors, {"format": "pt", "note": "ä"})

    def floats(self, name):
        array = self.tensors[name]
        return from_bfloat16(array[1]) if isinstance(array, tuple) else array.astype(np.float32)

    def bits(self, name):
        return self.tensors[name][1] if isinstance(self.tensors[name], tuple) else self.tensors[name]

    def check_file(self, result, chosen, name, group=0):
        tensors, types, metadata = result
        expected = set(self.tensors) | {tensor + "_scale" for tensor in chosen}
        if name == "nvfp4":
            expected |= {tensor + "_scale_2" for tensor in chosen}
        self.assertEqual(set(tensors), expected)
        for tensor in self.tensors:
            if tensor not in chosen:
                self.assertEqual(tensors[tensor].tobytes(), self.bits(tensor).tobytes(), tensor)
                continue
            codes, scales, global_scale, _ = quantize_rows(rotate(self.floats(tensor), group), name)
            self.assertTrue(np.array_equal(tensors[tensor], codes), tensor)
            self.assertTrue(np.array_equal(tensors[tensor + "_scale"], scales), tensor)
            self.assertEqual(types[tensor], "U8")
            if name == "nvfp4":
                self.assertEqual(tensors[tensor + "_scale_2"], global_scale)
        self.assertEqual((metadata["format"], metadata["note"]), ("pt", "ä"))
        self.assertEqual(set(json.loads(metadata["papillon_quantization"])["tensors"]), set(chosen))

    def test_parts_of_quantised_tensors_are_no_matrices(self):
        """A second step leaves the codes and scales of the first alone, whatever its patterns let through."""
        source = self.checkpoint()
        self.quantize(source, "--format", "int8", "--block", 16, "--include", "*q_proj*")
        first = self.path("first.safetensors")
        pathlib.Path(self.path("q.safetensors")).rename(first)
        before, _, _ = read_safetensors(first)
        tensors, types, _ = self.quantize(first, "--format", "nvfp4", "--include", "*weight*")
        for name in before:
            if "q_proj" in name:
                self.assertTrue(np.array_equal(tensors[name], before[name]), name)
        self.assertEqual(types["model.embed_tokens.weight"], "U8")
        self.dequantize(output="back.safetensors")
        text = self.succeed("quantize", "--study", first, "--format", "int8", "--rotate", "none")
        self.assertNotIn("q_proj", text)

    def test_patterns(self):
        source = self.checkpoint()
        matrices = [name for name in self.tensors if self.bits(name).ndim == 2 and name != "position_ids"]
        layers = [name for name in matrices if "layers" in name]
        for name, group in ("nvfp4", 0), ("nvfp4", 16), ("fp8", 32), ("mxfp8", 0), ("int4", 16):
            arguments = ("--format", name, "--rotate", group or "none")
            double = "model.layers.1.k_proj.weight"
            if group:  # rotated in double, which the oracle does not
                arguments += ("--exclude", double)
            keep = lambda chosen: [tensor for tensor in chosen if tensor != double or not group]
            self.check_file(self.quantize(source, *arguments), keep(matrices), name, group)
            self.check_file(self.quantize(source, *arguments, "--exclude", "*embed*"), keep(layers), name, group)
            self.check_file(self.quantize(source, *arguments, "--include", "model.layers.*"), keep(layers), name, group)
            self.check_file(self.quantize(source, *arguments, "--include", "*q_proj*", "--include", "*.0.?_proj.weight",
                                          "--exclude", "*.1.*"),
                            [tensor for tensor in layers if ".0." in tensor], name, group)

    def test_round_trip(self):
        source = self.checkpoint()
        for name in FORMATS:
            self.quantize(source, "--format", name, "--exclude", "*embed*")
            tensors, types, metadata = self.dequantize(output="back.safetensors")
            self.assertEqual(set(tensors), set(self.tensors))
            self.assertEqual(metadata, {"format": "pt", "note": "ä"})
            original = read_safetensors(source)[1]
            self.assertEqual(types, original)
            for tensor in self.tensors:
                if "layers" not in tensor:
                    self.assertEqual(tensors[tensor].tobytes(), self.bits(tensor).tobytes(), tensor)
                    continue
                values = quantize_rows(self.floats(tensor), name)[3]
                expected = to_bfloat16(values) if types[tensor] == "BF16" else values.astype(tensors[tensor].dtype)
                self.assertTrue(np.array_equal(tensors[tensor], expected), (name, tensor))
            self.assertEqual(self.dequantize("--dtype", "bf16", output="back.safetensors")[1]
                             ["model.layers.0.q_proj.weight"], "BF16")

    def test_several_steps(self):
        source = self.checkpoint()
        self.quantize(source, "--format", "int8", "--include", "*embed*")
        os.rename(self.path("q.safetensors"), self.path("step.safetensors"))
        tensors, _, metadata = self.quantize(self.path("step.safetensors"), "--rotate", "row", "--include", "*0.q_proj*")
        described = json.loads(metadata["papillon_quantization"])["tensors"]
        self.assertEqual({name: entry["format"] for name, entry in described.items()},
                         {"model.embed_tokens.weight": "int8", "model.layers.0.q_proj.weight": "nvfp4"})
        back = self.dequantize(output="back.safetensors")[0]
        self.assertTrue(np.array_equal(back["model.embed_tokens.weight"],
                                       quantize_rows(self.floats("model.embed_tokens.weight"), "int8")[3]))

    def test_peak_memory(self):
        """Tensors one after the other, each in parts."""
        shape = (1 << 17, 1024)
        header = {f"layer.{i}.weight": {"dtype": "F16", "shape": shape, "data_offsets": [i << 28, (i + 1) << 28]}
                  for i in range(2)}
        text = json.dumps(header).encode()
        with open(self.path("in.safetensors"), "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(file.tell() + (2 << 28))
        size = os.stat(self.path("in.safetensors")).st_size
        for arguments in (("quantize", self.path("in.safetensors"), "-o", self.path("q.safetensors")),
                          ("dequantize", self.path("q.safetensors"), "-o", self.path("out.safetensors"))):
            peak = peak_memory([BINARY, *arguments])
            self.assertGreater(peak, 0)
            self.assertLess(peak, size / 2, arguments)
        self.assertFalse(read_safetensors(self.path("q.safetensors"))[0]["layer.1.weight"].any())

    def test_errors(self):
        source, target = self.checkpoint(), self.path("out.safetensors")
        self.fail_with('tensor "model.layers.1.q_proj.weight"', "quantize", source, "-o", target, "--rotate", 64)
        self.fail_with("none of its 8 tensors", "quantize", source, "-o", target, "--include", "nothing*")
        self.fail_with("none of its 8 tensors", "quantize", source, "-o", target, "--exclude", "*")
        write_safetensors(self.path("in.safetensors"), {"w": np.zeros((4, 16), np.float32), "w_scale": np.zeros(1)})
        self.fail_with('"w_scale" comes twice', "quantize", source, "-o", target)
        whole = pathlib.Path(self.checkpoint()).read_bytes()
        for contents in b"", whole[:7], whole[:50], whole[:-1], whole + b"\0", b"\xff" * 8 + whole[8:], b"1.0 2.0 3.0":
            pathlib.Path(source).write_bytes(contents)
            for arguments in ((), ("--study",)):
                output = () if arguments else ("-o", target)
                self.assertIn("in.safetensors: ", self.fail_with("in.safetensors", "quantize", source, *output, *arguments))
            self.fail_with("in.safetensors: ", "dequantize", source, "-o", target)

    def test_dequantize_errors(self):
        source, target = self.checkpoint(), self.path("out.safetensors")
        self.fail_with("no quantised tensor", "dequantize", source, "-o", target)
        self.save(np.zeros(4, np.float32))
        self.fail_with("is an .npy file", "dequantize", self.path("in.npy"), "-o", target)
        self.quantize(source)
        name = self.path("q.safetensors")
        self.fail_with("more than one array", "dequantize", name, "-o", self.path("out.npy"))
        self.fail_with("exists already", "dequantize", name, "-o", name)
        self.fail_with("--dtype", "dequantize", name, "-o", target, "--dtype", "i4")
        self.quantize(self.save(self.random.standard_normal((6, 32)).astype(np.float32)), "--rotate", 16, "--seed", 2)
        tensors, types, metadata = read_safetensors(name)
        good = {tensor: (types[tensor], array) for tensor, array in tensors.items()}
        key = "papillon_quantization"
        def refuse(text, changed_tensors, changed_metadata):
            write_safetensors(name, changed_tensors, changed_metadata)
            self.assertIn("q.safetensors: ", self.fail_with(text, "dequantize", name, "-o", target))
        def entry(**changes):
            described = json.loads(metadata[key])
            described["tensors"]["x"].update(changes)
            return {key: json.dumps(described)}
        def without(field):
            described = json.loads(metadata[key])
            del described["tensors"]["x"][field]
            return {key: json.dumps(described)}
        refuse("no quantised tensor", good, {})
        for text in "", "{", "[]", "{}", "1", '{"version": 1}', '{"version": 1, "tensors": {"x": 3}}':
            refuse("metadata papillon_quantization", good, {key: text})
        refuse("version 2 is not known", good, {key: metadata[key].replace('"version":1', '"version":2')})
        for field in "format", "dtype", "shape", "axis", "block", "block_shape", "scale_layout", "rotation":
            refuse(field, good, without(field))
        for field, value in (("format", "nvfp5"), ("dtype", "int32"), ("dtype", "x"), ("axis", 2), ("axis", -1),
                             ("axis", 1 << 40), ("rotation", 24), ("rotation", "16"), ("block", 8),
                             ("block_shape", "round"), ("scale_layout", "x"), ("scale_rule", "ocp")):
            refuse('tensor "x"', good, entry(**{field: value}))
        for shape in [6], [6, -32], [1 << 62, 1 << 62], [], [1] * 5, [6, 0.5]:
            refuse('"x"', good, entry(shape=shape))
        for shape in [6, 48], [7, 32]:
            refuse('"x" is ', good, entry(shape=shape))
        refuse('"x_scale" is ', good, entry(scale_layout="swizzled"))
        for tensor in good:
            refuse(f'tensor "{tensor}" is missing', {key: value for key, value in good.items() if key != tensor}, metadata)
        refuse('"x_scale" is ', good | {"x_scale": ("U8", good["x_scale"][1])}, metadata)
        refuse('"x_scale_2" is ', good | {"x_scale_2": ("F32", np.ones(1, np.float32))}, metadata)


class QuantizationStudies(QuantizationTest):
    def study(self, source, *arguments):
        text = self.succeed("quantize", "--study", source, "--json", self.path("study.json"), "--chart",
                            self.path("study.svg"), "--force", *arguments)
        xml.etree.ElementTree.parse(self.path("study.svg"))
        return text, json.loads(pathlib.Path(self.path("study.json")).read_text())

    def test_errors_equal_numpys(self):
        x = self.random.standard_normal((256, 64)).astype(np.float32)
        x[:, [3, 19, 40]] *= 20
        text, found = self.study(self.save(x), "--format", ",".join(FORMATS))
        sets = found["tensors"][0]["sets"]
        self.assertEqual(found["tensors"][0]["outlier_channels"], [3, 19, 40])
        self.assertEqual({entry["rotation"] for entry in sets}, {"none", "16", "32", "64", "row"})
        self.assertEqual(len(sets), 8 * 5)
        library = {value[2]: name for name, value in FORMATS.items()}
        normal = np.delete(np.arange(64), [3, 19, 40])
        for entry in sets:
            group = {"none": 0, "row": 64}.get(entry["rotation"]) if not entry["rotation"].isdigit() else int(entry["rotation"])
            values = quantize_rows(rotate(x, group), library[entry["format"]])[3]
            error = (rotate(values, group) - x).astype(np.float64)
            exact = x.astype(np.float64)
            norm = np.linalg.norm
            for key, expected in (("relative_l2", norm(error) / norm(exact)),
                                  ("relative_l2_without_outlier_channels",
                                   norm(error[:, normal]) / norm(exact[:, normal])),
                                  ("largest_absolute", np.abs(error).max()),
                                  ("signal_to_noise_db", 20 * np.log10(norm(exact) / norm(error)))):
                self.assertTrue(np.isclose(entry[key], expected, rtol=1e-6), (entry, key, expected))
            self.assertIn(f"{entry['relative_l2']:.5f}", text)
        self.assertIn("without the 3 outlier channels", text)
        bits = {entry["format"]: entry["bits_per_value"] for entry in sets}
        self.assertEqual((bits["nvfp4"], bits["mxfp4"], bits["mxfp8_e4m3"], bits["int8"]), (4.5, 4.25, 8.25, 8.5))

    def test_settings_of_one_kind_of_format(self):
        source = self.save(self.random.standard_normal((32, 64)).astype(np.float32))
        for rule in "divide", "transformer-engine", "ocp", "round-up", "symmetric":
            _, found = self.study(source, "--scale-rule", rule)
            self.assertEqual(len(found["tensors"]), 1, rule)
        self.study(source, "--square-blocks")

    def test_checkpoint(self):
        tensors = {f"layer.{i}.weight": self.random.standard_normal((32, n)).astype(np.float32)
                   for i, n in enumerate((64, 128, 48))}
        source = write_safetensors(self.path("in.safetensors"), tensors | {"bias": np.zeros(3)})
        text, found = self.study(source)
        self.assertEqual([entry["name"] for entry in found["tensors"]], list(tensors))
        self.assertIn("All 3 tensors", text)
        self.assertIn("layer.1.weight: F32 of shape (32, 128)", text)
        mean = {}
        for entry in found["tensors"]:
            for cell in entry["sets"]:
                mean.setdefault((cell["format"], cell["rotation"]), []).append(cell["relative_l2"])
        lines = text[text.index("All 3"):].splitlines()
        heads = lines[1].split()[2:]
        self.assertEqual(heads, ["none", "16", "32", "64", "128", "row"])  # 256 fits none
        for line in lines[2:]:
            name, *figures = line.replace("*", "").split()
            for rotation, figure in zip(heads, figures):
                errors = mean.get((name, rotation), [])
                expected = "-" if len(errors) < 3 else f"{np.exp(np.mean(np.log(errors))):.5f}"
                self.assertEqual(figure, expected, (name, rotation))
        text, found = self.study(source, "--include", "*.0.*", "--format", "int4", "--rotate", "none,64", "--seed", 3)
        self.assertEqual(len(found["tensors"]), 1)
        self.assertEqual([(entry["rotation"], entry.get("seed")) for entry in found["tensors"][0]["sets"]],
                         [("none", None), ("64", 3)])

    def test_a_real_model(self):
        """The safetensors file that PAPILLON_TEST_MODEL names: there and back, and what docs/quantisation.md says of
        rotations (of matrices whose rows are a multiple of 16 long)."""
        source = os.environ.get("PAPILLON_TEST_MODEL")
        if not source:
            self.skipTest("PAPILLON_TEST_MODEL names no safetensors file")
        original, types, _ = read_safetensors(source)
        tensors = self.quantize(source)[0]
        back, back_types, _ = self.dequantize(output="back.safetensors")
        self.assertEqual(back_types, types)
        for name in original:
            if name + "_scale" not in tensors:
                self.assertEqual(back[name].tobytes(), original[name].tobytes(), name)
            elif types[name] == "F32":
                codes, scales, global_scale, values = quantize_rows(original[name], "nvfp4")
                self.assertTrue(np.array_equal(tensors[name], codes), name)
                self.assertTrue(np.array_equal(back[name], values), name)
        _, found = self.study(source, "--format", "nvfp4,int4", "--rotate", "none,16", "--exclude", "*embed*")
        for name, least, most in ("nvfp4", 0.98, 1.05), ("int4", 0.6, 1.02):
            for tensor in found["tensors"]:
                plain, rotated = [cell["relative_l2"] for cell in tensor["sets"] if cell["format"] == name]
                self.assertTrue(least < rotated / plain < most, (tensor["name"], name, rotated / plain))

    def test_zeros(self):
        text, found = self.study(self.save(np.zeros((4, 16), np.float32)))
        self.assertIsNone(found["tensors"][0]["sets"][0]["signal_to_noise_db"])
        self.assertEqual(found["tensors"][0]["outlier_channels"], [])
        self.assertIn("0.00000", text)

    def test_errors(self):
        source = self.save(np.zeros((4, 48), np.float32))
        self.fail_with("--output is not for --study", "quantize", "--study", source, "-o", self.path("x"))
        self.fail_with("rotation = 32", "quantize", "--study", source, "--rotate", "16,32")
        self.fail_with("axis = 2", "quantize", "--study", source, "--axis", 2)
        self.fail_with("end in .svg", "quantize", "--study", source, "--chart", self.path("a.png"))
        self.save(np.zeros(1), "keep.json")
        self.fail_with("keep.json: exists already", "quantize", "--study", source, "--json", self.path("keep.json"))
        self.fail_with("No such file", "quantize", "--study", source, "--json", self.path("none/a.json"))


class Information(CommandTest):
    def test_help_and_version(self):
        self.assertIn("hadamard", self.succeed("--help"))
        self.assertRegex(self.succeed("--version"), r"^papillon \d+\.\d+\.\d+\n$")
        for command in ("hadamard", "kronecker", "butterfly", "explain", "explain hadamard", "explain kronecker",
                        "explain butterfly", "gemm", "explain gemm", "info", "matrix"):
            self.assertIn("Usage: papillon " + command, self.succeed(*command.split(), "--help"))

    def test_info(self):
        info = json.loads(self.succeed("info", "--json"))
        self.assertRegex(info["version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(info["kokkos"]["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn(info["kokkos"]["default_host_space"], info["kokkos"]["spaces"])
        self.assertEqual(info["devices"][0]["kind"], "cpu")
        self.assertTrue(info["vector_target"])
        self.assertIsInstance(info["instruction_sets"], list)
        orders = info["orders"]
        self.assertEqual(orders[:5], [1, 2, 4, 8, 12])
        self.assertNotIn(668, orders)
        self.assertIn(684, orders)
        text = self.succeed("info")
        self.assertIn("papillon " + info["version"], text)
        self.assertIn("Kokkos " + info["kokkos"]["version"], text)

    def test_explain(self):
        for dtype, arch in itertools.product("f2 bf16 f4 f8 i4 i8 c8 c16".split(), ["cpu", "sm_90", "sm_100"]):
            for n in 1, 64, 3584, 1 << 24:
                text = self.succeed("explain", "hadamard", "--n", n, "--rows", 10, "--dtype", dtype, "--arch", arch)
                for line in "bytes moved: ", "operations: ", "bound: ", "matrix: ":
                    self.assertIn("\n" + line, text)
        text = self.succeed("explain", "hadamard", "--n", 256, "--rows", 3, "--dtype", "f4")
        self.assertIn(f"bytes moved: {256 * 3 * 8} (8 per element, 1 pass)", text)
        self.assertIn(f"operations: {256 * 3 * 8} additions (8 per element)", text)

    def test_explain_passes(self):
        def text(*arguments):
            return self.succeed("explain", "hadamard", *arguments)

        # f4 moves 8 bytes a pass; f2 keeps FP32 between its passes, in a workspace of 4 MiB or one transform.
        self.assertIn("(16 per element, 2 passes)\nworkspace: 0 bytes\n", text("--n", 1 << 20))
        self.assertIn(f"(12 per element, 2 passes)\nworkspace: {4 << 20} bytes\n",
                      text("--n", 1 << 17, "--rows", 100, "--dtype", "f2"))
        self.assertIn("(8 per element, 2 passes)\nworkspace: 0 bytes\n",
                      text("--n", 1 << 20, "--dtype", "f2", "--intermediate", "storage"))
        self.assertIn("(24 per element, 3 passes)", text("--n", 1 << 30))
        # Two axes that step as one, and two that do not.
        self.assertIn("n = 128 = 1 * 2^7, float32, outer 3, inner 5", text("--shape", "3,8,16,5", "--axes", "1,2"))
        apart = text("--shape", "8,3,16", "--axes", "0,-1")
        self.assertIn("n = 16 = 1 * 2^4, float32, outer 24, inner 1", apart)
        self.assertIn("n = 8 = 1 * 2^3, float32, outer 1, inner 48", apart)
        self.assertEqual(text("--n", 1 << 20, "--ordering", "sequency", "--workspace"), f"{4 << 20}\n")
        self.assertEqual(text("--n", 64, "--workspace"), "0\n")
        both = text("--shape", "96,64", "--axes", "0,1", "--dtype", "bf16", "--intermediate", "storage")
        self.assertIn("matrix: Sylvester\nmatrix: Kronecker 12 x 8", both)
        self.assertEqual(text("--n", 64, "--inner", 3), text("--shape", "1,64,3", "--axes", 1))

    def test_explain_errors(self):
        self.fail_with("excludes", "explain", "hadamard", "--n", 8, "--shape", "4,4")
        self.fail_with("--shape", "explain", "hadamard", "--shape", "4,x")
        self.fail_with("--axes", "explain", "hadamard", "--n", 8, "--axes", 0)
        self.fail_with("axes: an entry = 2", "explain", "hadamard", "--shape", "4,4", "--axes", "2")
        self.fail_with("9 extents", "explain", "hadamard", "--shape", "1,1,1,1,1,1,1,1,1")
        self.fail_with("n = 668", "explain", "hadamard", "--n", 668)
        self.fail_with("--n or --shape is required", "explain", "hadamard")
        self.fail_with("--n", "explain", "hadamard", "--n", 0)
        self.fail_with("--rows", "explain", "hadamard", "--n", 8, "--rows", -1)
        self.fail_with("--dtype", "explain", "hadamard", "--n", 8, "--dtype", "i1")
        self.fail_with("--arch", "explain", "hadamard", "--n", 8, "--arch", "sm_80")
        self.fail_with("fourier", "explain", "fourier", "--n", 8)
        self.fail_with("exceed 2^63 - 1", "explain", "hadamard", "--n", 1 << 62, "--rows", 4)


class LargeFile(CommandTest):
    def test_more_than_four_gigabytes(self):
        if not LARGE:
            self.skipTest("only with --large")
        rows, n = (1 << 19) + 1, 4096
        size = rows * n * 2
        with open(self.path("in.npy"), "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f2", "fortran_order": False, "shape": (rows, n)})
            for begin in range(0, rows, 8192):
                count = min(8192, rows - begin)
                file.write(self.random.integers(-3, 4, (count, n), dtype=np.int8).astype(np.float16).tobytes())
        begin = time.monotonic()
        peak = peak_memory([BINARY, "hadamard", self.path("in.npy"), "-o", self.path("out.npy")])
        seconds = time.monotonic() - begin
        print(f"\n{size} bytes in {seconds:.1f} s, peak memory {peak / 2**20:.0f} MiB", file=sys.stderr)
        self.assertGreater(peak, 0)
        self.assertLess(peak, size / 4)
        x, y = np.load(self.path("in.npy"), mmap_mode="r"), np.load(self.path("out.npy"), mmap_mode="r")
        matrix = scipy.linalg.hadamard(n).astype(np.float32)
        for row in [*range(0, rows, 4099), rows - 2, rows - 1]:
            expected = (matrix @ x[row].astype(np.float32)).astype(np.float16)
            self.assertTrue(np.array_equal(y[row], expected), row)


def main():
    global BINARY, LARGE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--large", action="store_true")
    arguments, rest = parser.parse_known_args()
    BINARY, LARGE = os.path.abspath(arguments.binary), arguments.large
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
