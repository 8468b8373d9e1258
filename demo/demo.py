# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Papillon's demo: transforms real data through the `papillon` command and reports what came out.

1. The Walsh spectrum of the AES S-box, from the C++ API (aes_sbox.cpp) and again from the command.
2. A magnetic resonance image, compressed by keeping its largest sequency coefficients.
3. A 3-D Poisson problem, solved by two Kronecker products (poisson.cpp), and again with the command.
4. A Monarch layer on patches of the image (monarch.cpp), and again with the command.
"""

import argparse
import gzip
import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("demo: this part needs NumPy (package python3-numpy)")

KEPT_PERCENT = (10, 5, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the built programs")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the results")
    arguments = parser.parse_args()
    demo = Demo(arguments.bin, arguments.out)

    spectrum = demo.aes_sbox()
    image = read_image()
    if image is not None:
        results = demo.compress(image)
        demo.time_against_copy()
        demo.draw(image, results, spectrum)
    demo.poisson()
    demo.monarch(image)
    print(f"\nThe files are in {arguments.out}")


class Demo:
    def __init__(self, programs, out):
        self.programs = programs
        self.out = out

    def transform(self, source, target, *options):
        """Runs `papillon hadamard` on files in the output folder."""
        command = [self.programs / "papillon", "hadamard", self.out / source, "-o", self.out / target, "--force"]
        subprocess.run([*command, *options], check=True)

    def transform_image(self, source, target):
        """The two-dimensional orthonormal transform in sequency order. It is its own inverse."""
        options = ("--norm", "ortho", "--ordering", "sequency")
        self.transform(source, "half_way.npy", "--axis", "0", *options)
        self.transform("half_way.npy", target, "--axis", "1", *options)
        (self.out / "half_way.npy").unlink()

    def aes_sbox(self):
        print("1. Walsh spectrum of the AES S-box (int32, 255 x 256)")
        subprocess.run([self.programs / "papillon-demo-aes-sbox", self.out], check=True)
        self.transform("sbox_components.npy", "sbox_spectrum_command.npy")
        spectrum = np.load(self.out / "sbox_spectrum.npy")
        if not np.array_equal(np.load(self.out / "sbox_spectrum_command.npy"), spectrum):
            sys.exit("demo: the papillon command and the C++ API disagree about the spectrum")
        print("papillon hadamard sbox_components.npy gives the same spectrum as the C++ API")
        return spectrum

    def compress(self, image):
        print("\n2. Compression of an image by its largest sequency coefficients")
        np.save(self.out / "image.npy", image)
        self.transform_image("image.npy", "spectrum.npy")
        coefficients = np.load(self.out / "spectrum.npy")
        check_against_dense_product(image, coefficients)

        results = {}
        magnitudes = np.sort(np.abs(coefficients), axis=None)[::-1]
        for percent in KEPT_PERCENT:
            count = round(image.size * percent / 100)
            kept = np.where(np.abs(coefficients) >= magnitudes[count - 1], coefficients, np.float32(0))
            np.save(self.out / "kept.npy", kept)
            self.transform_image("kept.npy", f"image_{percent}_percent.npy")
            restored = np.load(self.out / f"image_{percent}_percent.npy")
            difference = (restored - image).astype(np.float64)
            error = np.linalg.norm(difference) / np.linalg.norm(image)
            psnr = 20 * np.log10(image.max() / np.sqrt(np.mean(difference**2)))
            print(f"keeping {percent:2d} % of the coefficients: relative L2 error {error:.3f}, PSNR {psnr:.1f} dB")
            results[percent] = (restored, error, psnr)
        (self.out / "kept.npy").unlink()
        return coefficients, results

    def time_against_copy(self):
        program = self.programs / "papillon-demo-time-transform"
        line = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        copy, natural, sequency = (float(value) for value in line[:3])
        size, threads = (int(value) for value in line[3:])
        print(
            f"\nTime of this transform for 256 images of 256 x 256 floats ({size >> 20} MiB; C++ API, "
            f"{threads} threads, best of 7 runs)\n"
            f"  a copy of the same bytes: {copy:.1f} ms\n"
            f"  sequency order: {sequency:.1f} ms = {sequency / copy:.1f} copies\n"
            f"  natural order:  {natural:.1f} ms = {natural / copy:.1f} copies (two passes over the data)"
        )

    def poisson(self):
        print("\n3. A Poisson problem in three dimensions by fast diagonalisation (float64)")
        program = self.programs / "papillon-demo-poisson"
        if not program.exists():
            print("This part is left out: the build had no Eigen 3 (package libeigen3-dev)")
            return
        subprocess.run([program, self.out], check=True)
        factors = [text for axis in "zyx" for text in ("--factor", self.out / f"poisson_vectors_{axis}.npy")]

        def multiply(source, target, *options):
            command = [self.programs / "papillon", "kronecker", self.out / source, "-o", self.out / target, "--force"]
            subprocess.run([*command, *factors, *options], check=True)

        multiply("poisson_f.npy", "poisson_spectrum.npy", "--adjoint")
        z, y, x = (np.load(self.out / f"poisson_eigenvalues_{axis}.npy") for axis in "zyx")
        sums = (z[:, None, None] + y[:, None] + x).reshape(-1)
        np.save(self.out / "poisson_spectrum.npy", np.load(self.out / "poisson_spectrum.npy") / sums)
        multiply("poisson_spectrum.npy", "poisson_command.npy")
        solution = np.load(self.out / "poisson_u.npy")
        if not np.array_equal(np.load(self.out / "poisson_command.npy"), solution):
            sys.exit("demo: the papillon command and the C++ API disagree about the solution")
        print("papillon kronecker with NumPy's division gives the same bits as the C++ API")
        self.draw_slice(solution.reshape(len(z), len(y), len(x)))

    def monarch(self, image):
        print("\n4. A layer with a Monarch matrix (float32, 1024 features)")
        program = self.programs / "papillon-demo-monarch"
        if not program.exists():
            print("This part is left out: the build had no Eigen 3 (package libeigen3-dev)")
            return
        arguments = []
        if image is not None:  # patches of 32 x 32 pixels, 4 pixels apart
            patches = np.lib.stride_tricks.sliding_window_view(image, (32, 32))[::4, ::4].reshape(-1, 1024)
            np.save(self.out / "monarch_activations.npy", patches / image.max())
            arguments.append(self.out / "monarch_activations.npy")
        subprocess.run([program, self.out, *arguments], check=True)
        if not arguments:
            return
        command = [self.programs / "papillon", "butterfly", arguments[0], "-o", self.out / "monarch_command.npy"]
        subprocess.run([*command, "--factors", self.out / "monarch", "--force"], check=True)
        if not np.array_equal(np.load(self.out / "monarch_command.npy"), np.load(self.out / "monarch_outputs.npy")):
            sys.exit("demo: the papillon command and the C++ API disagree about the layer")
        print("papillon butterfly gives the same bits as the C++ API")

    def draw_slice(self, solution):
        plt = pyplot()
        if plt is None:
            return
        figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
        shown = axis.imshow(solution[len(solution) // 2], extent=(0, 1, 0, 1), origin="lower", cmap="RdBu_r")
        axis.set(xlabel="x", ylabel="y", title="u on the plane z = 1/2")
        figure.colorbar(shown, ax=axis)
        figure.savefig(self.out / "poisson.png", dpi=110)
        print("Picture: poisson.png")

    def draw(self, image, results, sbox_spectrum):
        plt = pyplot()
        if plt is None:
            return
        coefficients, restored = results
        plt.rcParams.update({"font.size": 10, "axes.titlesize": 10, "svg.hashsalt": "papillon"})
        figure, axes = plt.subplots(2, 4, figsize=(13, 7), layout="constrained")
        gray = {"cmap": "gray", "vmin": 0, "vmax": image.max(), "interpolation": "nearest"}
        show(axes[0, 0], image, "Original, 256 × 256", **gray)
        for axis, (percent, (pixels, error, psnr)) in zip(axes[0, 1:], restored.items()):
            title = f"{percent} % of the coefficients\nrelative error {error:.3f}, PSNR {psnr:.1f} dB"
            show(axis, pixels, title, **gray)

        magnitude = np.log10(np.maximum(np.abs(coefficients), 1e-1))
        shown = show(axes[1, 0], magnitude, "Spectrum in sequency order, log₁₀|X|", cmap="magma")
        figure.colorbar(shown, ax=axes[1, 0], shrink=0.8)
        threshold = np.quantile(np.abs(coefficients), 1 - KEPT_PERCENT[1] / 100)
        title = f"The largest {KEPT_PERCENT[1]} %: mostly low sequencies"
        show(axes[1, 1], np.abs(coefficients) > threshold, title, cmap="gray_r", interpolation="nearest")
        axes[1, 1].set(xticks=[], yticks=[])
        axes[1, 1].set_axis_on()

        energy = np.sort(coefficients.astype(np.float64) ** 2, axis=None)[::-1]
        error = np.sqrt(np.maximum(1 - np.cumsum(energy) / energy.sum(), 0))
        percents = 100 * np.arange(1, energy.size + 1) / energy.size
        curve = axes[1, 2]
        curve.loglog(percents, error, color="#1f4e79")
        for percent in KEPT_PERCENT:
            curve.plot(percent, restored[percent][1], "o", color="#c0504d")
        curve.set(xlim=(0.1, 50), ylim=(2e-2, 1), xlabel="coefficients kept, %", ylabel="relative L2 error")
        curve.set_title("Error against what is kept\n(dots: measured on the restored image)")
        curve.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        curve.grid(alpha=0.3)

        values, counts = np.unique(sbox_spectrum, return_counts=True)
        axes[1, 3].bar(values, counts, width=3, color="#1f4e79")
        axes[1, 3].set(xlabel="Walsh coefficient W", ylabel="how often")
        axes[1, 3].set_title(f"AES S-box, all components: |W| ≤ {np.abs(sbox_spectrum).max()}")
        figure.savefig(self.out / "demo.png", dpi=110)
        figure.savefig(self.out / "demo.svg", metadata={"Date": None})
        print("Picture: demo.png and demo.svg")


def pyplot():
    """Matplotlib's pyplot; None, and a sentence for the user, where Matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("There is no picture: Matplotlib is missing (package python3-matplotlib)")
        return None
    return plt


def show(axis, pixels, title, **options):
    axis.set_title(title)
    axis.set_axis_off()
    return axis.imshow(pixels, **options)


def check_against_dense_product(image, coefficients):
    """Stops unless the coefficients equal W·image·Wᵀ, W being built from its definition by sign changes.

    The comparison is exact: pixels are small integers and the factors are powers of two, so nothing is rounded.
    """
    index = np.arange(len(image))
    parity = np.array([[bin(i & j).count("1") % 2 for j in index] for i in index])
    walsh = 1.0 - 2.0 * parity
    changes = np.count_nonzero(np.diff(walsh, axis=1), axis=1)
    walsh = walsh[np.argsort(changes)] / np.sqrt(len(image))
    if not np.array_equal(walsh @ image @ walsh.T, coefficients):
        sys.exit("demo: the transform differs from the dense product in NumPy")
    print("papillon hadamard along both axes equals the dense product in NumPy, exactly")


def read_image():
    """The MRI slice that comes with Matplotlib: 256 x 256 pixels, 16 bits, big-endian (values 0 to 215)."""
    try:
        from matplotlib.cbook import get_sample_data

        path = get_sample_data("s1045.ima.gz", asfileobj=False)
    except ImportError:
        path = "/usr/share/matplotlib/mpl-data/sample_data/s1045.ima.gz"
    if not pathlib.Path(path).exists():
        print(f"\nThe image is missing: {path} (Debian package python-matplotlib-data); part 2 is left out")
        return None
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), ">u2").reshape(256, 256).astype(np.float32)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"demo: {pathlib.Path(error.cmd[0]).name} failed with exit status {error.returncode}")
