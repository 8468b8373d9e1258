#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.py [RESULTS.json]: docs/performance_gpu.md from papillon-perf-gpu's figures."""
import sys
from pathlib import Path

import gemm_report
import results

WHY = {
    "16-bit 32768": "a row in float is half of the register file and its exchange most of the shared memory, so one "
                    "row at a time is resident: 16 warps in step, issue slots busy 0.56 and the L2 cache 0.82 of the "
                    "time (ncu), not at the same time",
    "f64 32768": "a row is 256 KiB: a cluster of four blocks, as for longer rows",
    "batch": "one row a multiprocessor leaves nothing to overlap its load, sums and store with (ncu, tile_rows "
             "at 4096: 3 % of the warps that fit are there, issue slots busy 7 % of the time; few_rows, with eight "
             "times the warps, is as fast there and faster below); the goal is a multiple of this run's "
             "copies, which are 0.3 to 0.5 µs faster than those that it was set beside",
}
# Why a goal was missed: of long transforms and of columns, by kind.
WHY_LONG = {
    "hot": "a row takes four blocks of 64 KiB, and 92 clusters fit the card at a time: 128 rows are 1.4 waves",
    "16-bit one pass": "the exchange between blocks moves sums of four bytes: at the 32 bytes a nanosecond that a "
                       "multiprocessor sends and receives (measured alone), 64 KiB of them take 1.7 to 1.9 µs, where a copy "
                       "of the same elements takes 2.0, and both go through one network; besides, issue slots would be "
                       "busy three quarters of the time at the copy's rate",
    "one pass": "the exchange takes 1.7 to 1.9 of the 4.1 µs that a copy of 64 KiB takes on a multiprocessor, and shares "
                "its network; at 2^18, clusters of sixteen reach 112 of the 132 multiprocessors",
    "16-bit passes": "sums between passes are FP32: 12 bytes an element in two passes where a copy moves 4, 20 in three "
                     "(the limits are 0.33 and 0.20); `intermediate = storage` moves 8",
    "passes": "columns of 2^10 points more than 64 KiB apart reach 0.83 to 0.87 (a plain copy through the same tiles: 0.88), "
              "and rows of 2^16 and 2^18 their own ratio",
}
WHY_COLUMNS = {
    "16-bit": "tiles of 64-byte rows; a plain copy through such tiles reaches 0.83 to 0.90, wider ones need twice the "
              "cluster, whose exchange of four-byte sums takes as long as the memory",
    "4096": "a cluster of eight blocks exchanges seven eighths of its data; a plain copy through its tiles reaches 0.89",
    "other": "rows of points and columns beside tall tiles: both are near",
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


def marked(value: float, goal: float | None) -> str:
    return f"{value:.3f}" if goal is None or value >= goal else f"**{value:.3f}**"


def long_transforms(figures: dict) -> str:
    lines = results.lines(figures, "long")
    value = {(l["scalar"], l["n"], l["rows"]): l["ratio"] for l in lines}
    peers = results.peers(figures)["long_ratio"]
    rows = []
    for n, batch in dict.fromkeys((l["n"], l["rows"]) for l in lines):
        cells = [marked(value[s, n, batch], results.long_goal(s, n)) if (s, n, batch) in value else "–"
                 for s in results.SCALARS]
        goal = results.long_goal("f32", n)
        rows.append([f"2^{n.bit_length() - 1}", str(batch), *cells, f"{goal:.2f}",
                     *(str(p.get(str(n), "–")) for p in peers.values())])
    return table(["n", "rows", *results.SCALARS, "goal f32", *peers], rows)


def columns(figures: dict) -> str:
    lines = [l for l in results.lines(figures, "columns") if 1 < l["inner"] and l["n"] <= 4096]
    value = {(l["scalar"], l["n"], l["inner"]): l["ratio"] for l in lines}
    inners = sorted({l["inner"] for l in lines})
    rows = [[str(n), s] + [marked(value[s, n, i], results.column_goal(s, n, i)) for i in inners]
            for n in sorted({l["n"] for l in lines}) for s in ("bf16", "f32", "f64")]
    return table(["n", "scalar", *(f"inner {i}" for i in inners)], rows)


def axis_times(figures: dict) -> str:
    """All of one axis beside the same transform of the other one."""
    us = {l["inner"]: l["papillon_us"] for l in results.lines(figures, "columns", "f32") if l["n"] == 65536}
    return (f"{us[1024]:.0f} µs along axis 0 in f32, two passes, and its transpose {us[1]:.0f} µs along axis 1, one pass")


def missed_long(figures: dict) -> list[str]:
    found: dict[str, list[str]] = {}
    for l in results.lines(figures, "long"):
        goal = results.long_goal(l["scalar"], l["n"])
        if goal is None or l["ratio"] >= goal:
            continue
        passes = "passes" if goal < 0.7 else "one pass"
        kind = "16-bit " + passes if l["scalar"] in ("bf16", "f16") else passes
        if l["n"] == 1 << 16 and l["rows"] == 128:
            kind = "hot"
        rows = ", 128 rows" if kind == "hot" else ""
        found.setdefault(kind, []).append(f"{l['scalar']} 2^{l['n'].bit_length() - 1}{rows} {l['ratio']:.2f} ({goal:.2f})")
    return [f"- Long, {kind}: {', '.join(items)}: {WHY_LONG[kind]}." for kind, items in found.items()]


def missed_columns(figures: dict) -> list[str]:
    found: dict[str, list[str]] = {}
    for l in results.lines(figures, "columns"):
        goal = results.column_goal(l["scalar"], l["n"], l["inner"])
        if goal is None or l["ratio"] >= goal:
            continue
        kind = "16-bit" if l["scalar"] in ("bf16", "f16") else "4096" if l["n"] == 4096 else "other"
        found.setdefault(kind, []).append(f"{l['scalar']} {l['n']} × {l['inner']} {l['ratio']:.2f}")
    return [f"- Columns (goal 0.90): {', '.join(items)}: {WHY_COLUMNS[kind]}." for kind, items in found.items()]


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
    items += missed_long(figures) + missed_columns(figures)
    return "\n".join(items) + "\n" if items else "None.\n"


def kronecker(path: Path) -> str:
    figures = results.load(path)
    chain = results.load(results.FOLDER / "peers.json")["kronecker_over_copy"]
    line = {(l["scalar"], l["rows"], l["size"], l["count"]): l for l in results.lines(figures, "kronecker")}
    rows = []
    for shape, goals in results.KRONECKER_GOALS.items():
        cells = ["{} × {}^{}".format(*shape)]
        for scalar, goal in zip(("f32", "bf16", "f64"), goals):
            l = line[scalar, *shape]
            value = f"{l['over_copy']:.2f}"
            if l["over_copy"] > goal:
                value = f"**{value}**"
            other = chain[scalar][" ".join(map(str, shape))]
            cells += [f"{l['papillon_us']:.1f}", value, f"{goal}", f"{other}", f"{l['tflops']:.1f}"]
        rows.append(cells)
    head = ["rows × P^N"]
    for scalar in ("f32", "bf16", "f64"):
        head += [f"{scalar} µs", "/ copy", "goal", "chain", "TFLOP/s"]
    return (f"Figures: `{path.resolve().relative_to(results.ROOT)}` ({figures['code']}). *chain*: {chain['source']}.\n\n"
            + table(head, rows))


def butterfly(path: Path) -> str:
    lines = results.lines(results.load(path), "butterfly")
    value = {(l["scalar"], l["n"]): l["ratio"] for l in lines}
    rows = [[str(n), *(marked(value[s, n], 0.7 if s == "f32" else None) for s in ("f32", "bf16", "f16", "f64"))]
            for n in sorted({l["n"] for l in lines})]
    return table(["n", "f32", "bf16", "f16", "f64"], rows)


def quantiser(path: Path) -> str:
    figures = results.load(path)
    line = {(l["scalar"], l["rows"], l["format"], l["rule"], l["rotation"], l["axis"], l["global_scale"], l["rounding"],
             l["layout"]): l for l in results.lines(figures, "quantize")}

    def cell(goal, scalar, rows, rotation, source="given", format="nvfp4", rule="automatic", axis=-1,
             rounding="nearest_even", layout="row_major"):
        l = line.get((scalar, rows, format, rule, str(rotation), axis, source, rounding, layout))
        if l is None:
            return "–"
        value = f"{l['over_limit']:.2f}"
        if goal is not None and l["over_limit"] > goal:
            value = f"**{value}**"
        return f"{value} ({l['papillon_us']:.1f} µs)"

    scalars = ("bf16", "f16", "f32")
    large, small = 65536, 1024
    rows = []
    for rotation in (0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
        goal = 1.06 if rotation <= 128 else 1.12
        rows.append([str(rotation) if rotation else "none", *(cell(goal, s, large, rotation) for s in scalars),
                     *(cell(1.5, s, small, rotation) for s in scalars)])
    text = table(["rotation", *(f"{s}, 2^28" for s in scalars), *(f"{s}, 1024 × 4096" for s in scalars)], rows)
    rows = [[str(rotation) if rotation else "none",
             *(cell(1.06 if rotation <= 128 else None, s, large, rotation, "computed") for s in scalars),
             *(cell(None, s, small, rotation, "computed") for s in scalars)] for rotation in (0, 16, 128, 4096)]
    text += ("\nThe scale of the tensor computed: two passes, over the bytes of both.\n\n"
             + table(["rotation", *(f"{s}, 2^28" for s in scalars), *(f"{s}, 1024 × 4096" for s in scalars)], rows))
    rows = [["NVFP4, swizzled scales, rotation 16", *(cell(None, s, large, 16, layout="swizzled") for s in scalars)],
            ["NVFP4, stochastic, rotation 16", *(cell(None, s, large, 16, rounding="stochastic") for s in scalars)],
            ["NVFP4, Transformer Engine's rule, rotation 16",
             *(cell(None, s, large, 16, rule="transformer_engine") for s in scalars)]]
    for rotation in (0, 16):
        rows.append([f"NVFP4 along axis 0, rotation {rotation or 'none'}",
                     *(cell(None, s, large, rotation, axis=0) for s in scalars)])
    for format in ("mxfp4", "mxfp8_e4m3", "mxfp8_e5m2", "fp8_e4m3", "int8", "int4"):
        for rotation in (0, 16, 128):
            rows.append([f"{format}, rotation {rotation or 'none'}",
                         *(cell(None, s, large, rotation, format=format) for s in scalars)])
    return f"Figures: `{path.resolve().relative_to(results.ROOT)}` ({figures['code']}).\n\n" + text + (
        "\nOther choices, 2^28 elements (fp8, int8, int4: one scale a row).\n\n" + table(["", *scalars], rows))


def main(path: Path) -> None:
    figures = results.load(path)
    products = max(results.FOLDER.glob("kronecker_*.json"))
    gemm = max(results.FOLDER.glob("gemm_*.json"))
    gemm_report.roofline(gemm)
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
## Long transforms: ratio to copy
2^{figures["log2_elements"]} elements (128 rows: what the L2 cache holds of them). One pass through clusters up to 2^18 (f64 2^17), two up to 2^30 (f64 2^29, 16-bit 2^25); two passes through memory cannot exceed 0.50, of 16-bit types with FP32 between them 0.33.
MLX's two-pass kernel and hadipourh/fwht: f32, measured on an H200 in an earlier run.

{long_transforms(figures)}
![long transforms](images/h200_long.svg)

## Columns, 2^{figures["log2_elements"] - 1} elements, cold: ratio to copy
Arrays (outer, n, inner), transformed along n. Goal: 0.90 where a row of columns has 32 bytes or more.

{columns(figures)}
A power of two of columns that lie without gaps are rows whose lowest stages are left out; other few columns go through
padded shared memory (`packed_columns`). An array (65536, 1024) takes {axis_times(figures)}.

## Signs, orders, misaligned rows: ratio to copy
{options(figures)}
## Kronecker products of N factors P × P: time over that of a copy of x
A chain of products moves x once a factor; here consecutive factors are applied while a tile is in registers and shared
memory, so that memory moves once a pass (2^10, 4^6, 8^5, 32^2, 64^2 one pass, all others two or three). f32 is true FP32,
every product and sum in the FFMA units (66.9 TFLOP/s at 1.98 GHz); bf16 and f64 from P = 16 on run on the matrix units.

{kronecker(products)}
Short of the goal, and why: what two passes do, one cannot (16^4, 64^3, 128^3 and 32^3 in bf16 and f64: a tile in one
block's shared memory, at most 227 KiB, holds no more; clusters of blocks, as the transforms use, were not built). f32 8^5
and 32^3 fill the shared memory with one tile, so that a multiprocessor has one block and waits for its loads; f32 with
P = 32 to 128 runs at 35 to 43 TFLOP/s, of which the inner loop alone would allow about 54 (a loop of 553 instructions has
512 FFMA, and dispatch stalls); bf16 below P = 16 forms its sums in FP32, at the same rate as f32.

## Butterflies of 2 × 2 blocks, 2^27 elements, cold: ratio to a copy and the factors' bytes
log2 n factors, each with 2 n values of its own. Goal: 0.7 in f32. Up to three factors are applied at a time in registers,
whose values a thread keeps for all rows of its tile.

{butterfly(products)}
## Quantisers: time over that of a kernel that moves the same bytes
65536 × 4096 elements cold, and 1024 × 4096 hot. The limit reads as many bytes and writes as many as the quantiser does (16-bit
NVFP4: 2 and 0.5625 an element). Goals for NVFP4: 1.06 up to rotation 128, 1.12 above, 1.5 for the small one.

{quantiser(max(results.FOLDER.glob("quantize_*.json")))}
Short of the goal, and why: the 16-bit rows are limited by issue slots, not by memory ({"see [the kernels](kernels-h200.md)"}): an
element takes about 11 instructions to be encoded and 4 to 7 to be rotated, and in the time that its 2.56 bytes take to move
there is room for 15. Rotations of 64 and more exchange values between lanes by shuffles, two instructions an element
and stage. Small problems: one wave of blocks, each of which makes a table of reciprocals first. Axis 0, rotations beyond 4096 and
rotated float-scale formats go through a workspace in the L2 cache.

## Matrix products: speed over cuBLAS's, 2 m n k operations counted
`classical` and Strassen's levels over Papillon's kernels, levels over cuBLAS's products, and what `automatic` takes; normally
distributed values, graphs, the card as it is: it throttles on power in f64 and 16-bit products, so that cuBLAS itself varies by 10 % from one
size to the next (f64 8192: 53 to 62 TFLOP/s in a day). Goals: f32 1.15, 1.3, 1.4 and f64 1.05, 1.12, 1.22 at 4096, 8192, 16384 (`automatic`); classical
1.0 for f32 and f64 from 2048 on, 0.95 for 16-bit, 0.91 up to 1024; other shapes 0.9.

{gemm_report.section(gemm)}
![roofline](images/h200_gemm.svg)

Short of the goal, and why. Classical f32 with A stored by rows lies within 2 % of cuBLAS; with A stored by columns, as Strassen packs it, it is
3 to 5 % faster: its transposition in shared memory is the difference. Classical f64 keeps the matrix units busy 92 % of the cycles (ncu) and shares
cuBLAS's limit, power, on large products; f64 2048 is 256 tiles for 132 multiprocessors, and the runs of cuBLAS itself there differ by 10 % (`automatic` calls it).
512 in f64 has 16 tiles, whose parts of k a second kernel adds up. 16-bit at 1024 has one tile a multiprocessor, whose loads nothing hides. Long k with few
tiles needs a sum across multiprocessors, which cuBLAS hides better. Rows that are no multiples of 16 bytes (4095) run in the general kernel;
`automatic` packs them for Strassen or asks cuBLAS. [The kernels](kernels-h200.md) tells what was tried.

## Missed goals of the transform
{missed(figures)}
Not timed: several axes at once (each is a pass of the kinds above), m above 60; anything on sm_100, where the kernels
are compiled only.
"""
    (results.ROOT / "docs" / "performance_gpu.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else results.latest())
