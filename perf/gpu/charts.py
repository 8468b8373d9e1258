#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""charts.py [RESULTS.json]: docs/images/h200_ratio.svg, h200_rows.svg and h200_long.svg from papillon-perf-gpu's
figures."""
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "papillon"  # the same file from the same figures
import matplotlib.pyplot as plt

import results

STYLE = {"bf16": "o-", "f16": "s-", "f32": "^-", "i32": "v-", "f64": "D-"}
SOURCE = "Dao: commit e7706fa, same run; HadaCore: another run, see perf/results/h200/peers.json"


def save(figure, name: str) -> None:
    folder = results.ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / name, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def ratio_chart(figures: dict, peers: dict) -> None:
    figure, axes = plt.subplots(figsize=(8, 4.8))
    for scalar in results.SCALARS:
        rows = results.lines(figures, "cold", scalar)
        axes.plot([r["n"] for r in rows], [r["ratio"] for r in rows], STYLE[scalar], markersize=4,
                  label=f"Papillon {scalar}")
    for (name, points), mark in zip(peers["cold_ratio"].items(), ("x:", "+:", "1:")):
        axes.plot([int(n) for n in points], list(points.values()), mark, color="0.45", label=name)
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1.05)
    axes.axhline(1.0, color="black", linewidth=0.6)
    axes.set_xlabel("n")
    axes.set_ylabel("time of the fastest copy / time")
    axes.set_title(f"Hadamard transform, 2^{figures['log2_elements']} elements, {figures['card']}")
    axes.legend(fontsize=8, ncol=2, loc="lower right")
    figure.text(0.01, -0.03, SOURCE, fontsize=7)
    save(figure, "h200_ratio.svg")


def rows_chart(figures: dict, peers: dict) -> None:
    figure, axes = plt.subplots(figsize=(8, 4.8))
    rows = results.lines(figures, "hot")
    axes.plot([r["rows"] for r in rows], [r["copy_us"] for r in rows], "k--", label="copy")
    axes.plot([r["rows"] for r in rows], [r["papillon_us"] for r in rows], "o-", label="Papillon")
    for name, mark in (("Dao", "x:"), ("HadaCore", "+:")):
        points = peers["hot_us"][name]
        axes.plot([int(n) for n in points], list(points.values()), mark, color="0.45", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("µs")
    axes.set_title(f"n = 128, bf16, same buffers, {figures['card']}")
    axes.legend()
    figure.text(0.01, -0.03, SOURCE, fontsize=7)
    save(figure, "h200_rows.svg")


def long_chart(figures: dict, peers: dict) -> None:
    figure, axes = plt.subplots(figsize=(8, 4.8))
    for scalar in results.SCALARS:
        rows = [r for r in results.lines(figures, "long", scalar) if r["rows"] * r["n"] > 1 << 23]
        axes.plot([r["n"] for r in rows], [r["ratio"] for r in rows], STYLE[scalar], markersize=4,
                  label=f"Papillon {scalar}")
    for (name, points), mark in zip(peers["long_ratio"].items(), ("x:", "+:")):
        axes.plot([int(n) for n in points], list(points.values()), mark, color="0.45", label=name)
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1.05)
    for limit, text in ((1.0, "one pass"), (0.5, "two passes")):
        axes.axhline(limit, color="black", linewidth=0.6)
        axes.text(1 << 16, limit + 0.01, text, fontsize=7)
    axes.set_xlabel("n")
    axes.set_ylabel("time of the fastest copy / time")
    axes.set_title(f"Long Hadamard transforms, {figures['card']}")
    axes.legend(fontsize=8, ncol=2, loc="upper right")
    figure.text(0.01, -0.03, "MLX, hadipourh/fwht: another run, see perf/results/h200/peers.json", fontsize=7)
    save(figure, "h200_long.svg")


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else results.latest()
    loaded = results.load(path)
    others = results.peers(loaded)
    ratio_chart(loaded, others)
    rows_chart(loaded, others)
    long_chart(loaded, others)
