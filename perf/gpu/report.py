#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.py [RESULTS.json]: docs/performance_gpu.md from papillon-perf-gpu's figures."""
import sys
from pathlib import Path

import results

WHY = {
    "16-bit 32768": "a row in float is half of the register file and its exchange most of the shared memory, so one "
                    "row at a time is resident: 16 warps in step, issue slots busy 0.56 and the L2 cache 0.82 of the "
                    "time (ncu), not at the same time",
    "f64 32768": "a row is 256 KiB, more than a multiprocessor's shared memory: a cluster of two blocks exchanges "
                 "the highest bit through distributed shared memory, with one block a multiprocessor, so that "
                 "loads, sums and stores follow one another (ncu: issue slots busy 0.22 of the time)",
    "batch": "one row a multiprocessor leaves nothing to overlap its load, sums and store with (ncu, tile_rows "
             "at 4096: 3 % of the warps that fit are there, issue slots busy 7 % of the time; few_rows, with eight "
             "times the warps, is as fast there and faster below); the goal is a multiple of this run's "
             "copies, which are 0.3 to 0.5 µs faster than those that it was set beside",
}


def table(head: list[str], rows: list[list[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells) + "\n"


def cold(figures: dict) -> str:
    ratio = {(l["scalar"], l["n"]): l["ratio"] for l in results.lines(figures, "cold")}
    lengths = sorted({n for _, n in ratio})
    peers = results.peers(figures)["cold_ratio"]

    def cell(scalar: str, n: int) -> str:
        value = ratio[scalar, n]
        return f"{value:.3f}" if value >= results.cold_goal(n) else f"**{value:.3f}**"

    rows = [[str(n)] + [cell(s, n) for s in results.SCALARS] + [f"{p.get(str(n), '–')}" for p in peers.values()]
            for n in lengths]
    return table(["n", *results.SCALARS, *peers], rows)


def hot(figures: dict) -> str:
    peers = results.peers(figures)["hot_us"]
    rows = []
    for l in results.lines(figures, "hot"):
        n, goal = str(l["rows"]), results.HOT_GOALS_US[l["rows"]]
        ours = f"{l['papillon_us']:.2f}"
        rows.append([n, f"{l['copy_us']:.2f}", ours if l["papillon_us"] <= goal else f"**{ours}**", f"{goal}",
                     str(peers["Dao"].get(n, "–")), str(peers["HadaCore"].get(n, "–"))])
    return table(["rows", "copy", "Papillon", "goal", "Dao", "HadaCore"], rows)


def batch(figures: dict) -> str:
    peers = results.peers(figures)["batch_us"]
    rows = []
    for l in results.lines(figures, "batch"):
        times = l["papillon_us"] / l["copy_us"]
        rows.append([str(l["n"]), f"{l['copy_us']:.2f}", f"{l['papillon_us']:.2f}",
                     f"{times:.2f}" if times <= results.BATCH_GOAL else f"**{times:.2f}**",
                     str(peers["Dao"].get(str(l["n"]), "–"))])
    return table(["n", "copy", "Papillon", "Papillon / copy", "Dao"], rows)


def orders(figures: dict) -> str:
    ratio = {(l["scalar"], l["n"]): l["ratio"] for l in results.lines(figures, "orders")}
    lengths = sorted({n for _, n in ratio})

    def order(n: int) -> str:
        k = (n & -n).bit_length() - 1 - 2
        return f"{n} = {n >> k} · 2^{k}"

    rows = [[order(n)] + [f"{ratio[s, n]:.2f}" if (s, n) in ratio else "–" for s in results.SCALARS] for n in lengths]
    return table(["n", *results.SCALARS], rows)


def options(figures: dict) -> str:
    lines = results.lines(figures, "options")
    ratio = {(l["variant"], l["scalar"], l["n"]): l["ratio"] for l in lines}
    lengths = sorted({l["n"] for l in lines})
    rows = [[variant, scalar] + [f"{ratio[variant, scalar, n]:.2f}" if (variant, scalar, n) in ratio else "–"
                                 for n in lengths]
            for variant in dict.fromkeys(l["variant"] for l in lines) for scalar in ("bf16", "f32", "f64")]
    return table(["option", "scalar", *map(str, lengths)], rows)


def missed(figures: dict) -> str:
    found: dict[str, list[str]] = {}
    for l in results.lines(figures, "cold"):
        if l["ratio"] < results.cold_goal(l["n"]):
            kind = "16-bit" if l["scalar"] in ("bf16", "f16") else l["scalar"]
            found.setdefault(f"{kind} {l['n']}", []).append(f"{l['scalar']} {l['ratio']:.3f}")
    items = [f"- n = {key.split()[1]}: {', '.join(values)}, goal {results.cold_goal(int(key.split()[1]))}: "
             + WHY.get(key, "not explained yet") + "." for key, values in found.items()]
    for l in results.lines(figures, "hot"):
        if l["papillon_us"] > results.HOT_GOALS_US[l["rows"]]:
            items.append(f"- n = 128, {l['rows']} rows: {l['papillon_us']:.2f} µs, goal "
                         f"{results.HOT_GOALS_US[l['rows']]} µs: not explained yet.")
    slow = [l for l in results.lines(figures, "batch") if l["papillon_us"] > results.BATCH_GOAL * l["copy_us"]]
    if slow:
        items.append("- f32, 128 rows, n = " + ", ".join(str(l["n"]) for l in slow)
                     + f", goal {results.BATCH_GOAL} times the copy: " + WHY["batch"] + ".")
    return "\n".join(items) + "\n" if items else "None.\n"


def main(path: Path) -> None:
    figures = results.load(path)
    peers = results.peers(figures)
    text = f"""# Performance on the H200

Generated by `perf/gpu/report.py` from `{path.resolve().relative_to(results.ROOT)}`
({figures["card"]}, {figures["multiprocessors"]} multiprocessors{", " + figures["code"] if "code" in figures else ""}).
Times are medians of CUDA graph replays. *Ratio* is the time of the fastest of several plain copies of the same bytes,
in the same run, over the time of the transform; 1 is the limit of a transform that reads and writes its data once.
**Bold**: short of the goal. [The kernels](kernels-h200.md) tells what was tried.

Dao-AILab fast-hadamard-transform (commit e7706fa, its kernels built without PyTorch, loaded with `--plugin`) ran in the
same run; its results have the same bits as Papillon's. HadaCore's figures: {peers["source"]}. {peers["note"]}.

## One pass, 2^{figures["log2_elements"]} elements, cold: ratio to copy
Goal: 0.97 up to n = 8192, 0.95 above.

{cold(figures)}
![ratio to copy](images/h200_ratio.svg)

## Small and hot, n = 128, bf16 (µs)
{hot(figures)}
![time against rows](images/h200_rows.svg)

## 128 rows, f32, hot (µs)
Goal: {results.BATCH_GOAL} times the copy.

{batch(figures)}
## Orders m · 2^k, 2^{figures["log2_elements"] - 1} elements, cold: ratio to copy
No goal was set. The order-m factor is m sums a value one after the other, as the bits contract asks; with the stages
before it that is 50 to 90 instructions a value, and issue slots limit it (ncu: 0.58 to 0.73 busy).

{orders(figures)}
## Signs, orders, misaligned rows: ratio to copy
{options(figures)}
## Missed goals
{missed(figures)}
Not timed: columns, transforms longer than 32768, several axes (their kernels have run emulated on a CPU, bit for bit, but not yet on
a GPU), m above 60; anything on sm_100, where the kernels are compiled only.
"""
    (results.ROOT / "docs" / "performance_gpu.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else results.latest())
