#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/performance.md, docs/images/cpu_ratio.svg and docs/images/cpu_gemm.svg from a committed result of perf/run_cpu.py.

    python3 perf/report_cpu.py perf/results/NAME/cpu.json docs
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "papillon"
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

SERIES = [("float32/64KiB", "f32, 64 KiB"), ("float32/2MiB", "f32, 2 MiB"), ("float32/64MiB", "f32, 64 MiB"),
          ("float64/64MiB", "f64, 64 MiB")]


def log2_of(case):
    return int(case.rsplit("^", 1)[1])


def chart(result, target):
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for number, (prefix, label) in enumerate(SERIES):
        cases = sorted((c for c in result["cases"] if c.startswith(prefix + "/")), key=log2_of)
        entries = [result["cases"][c] for c in cases]
        lengths = [log2_of(c) for c in cases]
        axes.plot(lengths, [e["papillon"] for e in entries], "o-", color=f"C{number}", label=f"Papillon, {label}")
        for peer, style in (("ffht", "s:"), ("fftw", "x:")):
            points = [(n, e["peers"][peer]) for n, e in zip(lengths, entries) if peer in e["peers"]]
            if points:
                axes.plot(*zip(*points), style, color=f"C{number}", alpha=0.6, markersize=4,
                          label=f"{peer.upper()}, {label}")
        if prefix.endswith("64MiB"):
            axes.axhline(max(e["scale"] for e in entries), color=f"C{number}", linewidth=0.8, linestyle="--")
    axes.xaxis.set_major_locator(matplotlib.ticker.MultipleLocator(2))
    axes.set(xlabel="log2 of the transform's length", ylabel="GB/s, read plus written", yscale="log",
             title=f"One thread, in place: {result['machine']}, {result['instruction_set']} "
                   f"(dashed: in-place scale loop, 64 MiB)")
    axes.title.set_fontsize(9)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(target, metadata={"Date": None})


def table(result):
    peers = sorted({name for entry in result["cases"].values() for name in entry["peers"]})
    head = ["scalar / data / row", "limit", "Papillon", "of limit", *(p.upper() for p in peers), "goal", "met",
            "2 threads", "scaling", "limit scales"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for case, entry in result["cases"].items():
        ratio = entry["papillon"] / entry["scale"]
        cells = [case.replace("^", "\\^"), f"{entry['scale']:.1f}", f"{entry['papillon']:.1f}", f"{ratio:.2f}"]
        cells += [f"{entry['peers'][p]:.1f}" if p in entry["peers"] else "–" for p in peers]
        if "element_rate_to_f32" in entry:
            rate = entry["element_rate_to_f32"]
            cells += [f"{rate:.2f} of f32's elements (0.60)", "yes" if rate >= 0.6 else "no"]
        elif entry["goal_value"]:
            cells += [f"{entry['goal_value']:.1f} ({entry['goal']})", "yes" if entry["papillon"] >= entry["goal_value"] else "no"]
        else:
            cells += [entry["goal"], "–"]
        if "papillon_two_threads" in entry:
            cells += [f"{entry['papillon_two_threads']:.1f}", f"{entry['papillon_two_threads'] / entry['papillon']:.2f}",
                      f"{entry['scale_two_threads'] / entry['scale']:.2f}"]
        else:
            cells += ["–", "–", "–"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def product_section(result):
    """The section on Kronecker products; nothing for results without them."""
    if not result.get("kronecker"):
        return ""
    head = ["scalar / rows / factors", "Eigen", "Papillon", "goal", "met", "Eigen, 2 threads", "Papillon, 2 threads", "goal", "met"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    notes = []
    for case, entry in result["kronecker"].items():
        cells = [case.replace("^", "\\^")]
        for threads in ("", "_two_threads"):
            eigen, papillon, wanted = (entry[key + threads] for key in ("eigen", "papillon", "goal"))
            cells.append(f"{eigen:.1f}" if eigen else "–")
            cells += [f"{papillon:.1f}", f"{wanted:.1f}", "yes" if papillon >= wanted else "no"] if papillon else ["–"] * 3
        rows.append("| " + " | ".join(cells) + " |")
        if entry["hadamard"]:
            notes.append(f"`papillon::hadamard` of the length of {case} takes {entry['papillon'] / entry['hadamard']:.2f} of "
                         f"the product's time, whose entries it knows.")
    measured = f" ({result['kronecker_date']}, commit {result['kronecker_commit']})" if "kronecker_commit" in result else ""
    return f"""
## Kronecker products

GFLOP/s of `papillon::kronecker` along the last axis of float arrays of the given rows, out of place, two operations for each
multiply-add, best of five{measured}. *Eigen* is our own plain peer in the same program: a chain of batched products through Eigen 3.4,
compiled for this machine, without a transpose, each thread taking its part of the rows through all factors. Goals are 1.5
times (from extent 32 on 1.1 times) the best of FastKron tuned for the shape and of batched products of other libraries on such
a machine.

{chr(10).join(rows)}

{chr(10).join(notes)}
"""


def quantizer_section(result):
    """The section on the quantiser; nothing for results without it."""
    if not result.get("quantize"):
        return ""
    head = ["scalar / shape / what", "limit", "quantize", "goal", "met", "2 threads", "scaling", "limit scales", "dequantize",
            "2 threads"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for case, entry in result["quantize"].items():
        cells = [case, f"{entry['limit']:.1f}", f"{entry['quantize']:.2f}", f"{entry['goal']:.1f}",
                 "yes" if entry["quantize"] >= entry["goal"] else "no"]
        if entry["quantize_two_threads"]:
            cells += [f"{entry['quantize_two_threads']:.2f}", f"{entry['quantize_two_threads'] / entry['quantize']:.2f}",
                      f"{entry['limit_two_threads'] / entry['limit']:.2f}"]
        else:
            cells += ["–"] * 3
        cells += [f"{entry[key]:.2f}" if entry[key] else "–" for key in ("dequantize", "dequantize_two_threads")]
        rows.append("| " + " | ".join(cells) + " |")
    scaling = next(iter(result["quantize"].values()))["scaling_goal"]
    measured = f" ({result['quantize_date']}, commit {result['quantize_commit']})" if "quantize_commit" in result else ""
    return f"""
## Quantiser

GB/s of input of `papillon::quantize`, of `papillon::dequantize` GB/s of output, best of five{measured}, along the last axis of row-major
matrices unless said otherwise, rotations as far as named (`rotation 0`: none), row-major scales. *Limit* is a plain in-place scale
loop over as many bytes, counted once. Goals: the named rate on one thread, and {scaling} times that on two. *Computed* scales
take two passes over the data, each with the rotation. Arithmetic limits it, not memory: about 1.5 cycles an element for amax,
division, rounding and packing.

{chr(10).join(rows)}
"""


GEMM_SERIES = [("openblas", "OpenBLAS", "x:"), ("eigen", "Eigen", "s:"), ("classical", "Papillon, classical", "o--"),
               ("automatic", "Papillon, automatic", "o-")]
# On two threads, of Eigen's classical product: the least ratio for each n.
GEMM_GOALS = {2048: 1.0, 4096: 1.15}


def gemm_chart(result, target):
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
    for axes, scalar in zip(panels, ("float32", "float64")):
        entries = {int(case.split("/")[1]): entry for case, entry in result["gemm"].items() if case.startswith(scalar)}
        for who, label, style in GEMM_SERIES:
            points = [(n, entry[who]["rate_two_threads"]) for n, entry in sorted(entries.items())
                      if who in entry and entry[who]["rate_two_threads"]]
            if points:
                axes.plot(*zip(*points), style, label=label)
        axes.set_xscale("log", base=2)
        axes.set(xlabel="n", ylabel="GFLOP/s of 2 n³ operations", ylim=(0, None), title=f"{scalar}, two threads")
        axes.title.set_fontsize(9)
        axes.grid(True, alpha=0.3)
    panels[0].legend(fontsize=7)
    figure.savefig(target, metadata={"Date": None})


def gemm_section(result):
    """The section on matrix products; nothing for results without them."""
    if not result.get("gemm"):
        return ""
    head = ["scalar / n", "threads", "OpenBLAS", "Eigen", "classical", "automatic", "levels", "of Eigen", "goal", "met",
            "error of Eigen", "error, classical", "error, automatic"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for case, entry in result["gemm"].items():
        for threads, key in ((1, "rate"), (2, "rate_two_threads")):
            rates = {who: entry[who][key] for who in entry if entry[who][key]}
            if "automatic" not in rates:
                continue
            cells = [case, str(threads)]
            cells += [f"{rates[who]:.0f}" if who in rates else "–" for who in ("openblas", "eigen", "classical", "automatic")]
            cells.append(str(entry["automatic"]["levels"]))
            ratio = rates["automatic"] / rates["eigen"] if "eigen" in rates else None
            goal = GEMM_GOALS.get(int(case.split("/")[1])) if threads == 2 else None
            cells.append(f"{ratio:.2f}" if ratio else "–")
            cells += [f"{goal:.2f}", "yes" if ratio >= goal else "no"] if goal and ratio else ["–", "–"]
            cells += [f"{entry[who]['error']:.1e}" if who in entry else "–" for who in ("eigen", "classical", "automatic")]
            rows.append("| " + " | ".join(cells) + " |")
    measured = f" ({result['gemm_date']}, commit {result['gemm_commit']})" if "gemm_commit" in result else ""
    return f"""
## Matrix products

GFLOP/s of `papillon::gemm`, C = A B of row-major n x n matrices of normal numbers, 2 n³ operations counted whatever the
algorithm, best of five{measured}. *Classical* has no levels of Strassen, *automatic* as many as it takes by itself. Eigen 3.4
is compiled for this machine and takes its own threads; OpenBLAS is Debian's, loaded at run time where it is installed. Errors
are |C - A B| / |A B| in the Frobenius norm over eight rows, of sums in a wider type. Goals: of Eigen's classical product, on two
threads.

![Rates of matrix products](images/cpu_gemm.svg)

{chr(10).join(rows)}
"""


def main():
    source, docs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    result = json.loads(source.read_text())
    (docs / "images").mkdir(exist_ok=True)
    chart(result, docs / "images" / "cpu_ratio.svg")
    if result.get("gemm"):
        gemm_chart(result, docs / "images" / "cpu_gemm.svg")
    (docs / "performance.md").write_text(f"""# Performance on the CPU

This page is made by `perf/report_cpu.py` from `{source}`; measure your own machine with

```
tools/devroot cmake --workflow --preset perf
```

Machine: {result['machine']}, {result['cores']} cores, vectors: {result['instruction_set']}; {result['date']}, commit {result['commit']}.
All figures are {result['unit']}, contiguous rows, data transformed by H and its inverse in turn through the public call
`papillon::hadamard`. *Limit* is a plain in-place scale loop over the same bytes in the same run; two passes over data
in memory cannot exceed 0.50 of it. Peers run in the same program, on one thread, and are checked against the definition
before they are timed: FFTW computes a 2 x 2 x … discrete Hartley transform (`FFTW_ESTIMATE`); FFHT is
FALCONN-LIB/FFHT at commit fba727a, loaded with `--plugin`. Rows longer than 2^16 (2^17 in f64) take two passes up to
2^26 or so and three beyond, as many rows at a time as 4 MiB hold, so that the later passes of rows up to 2^20 meet their
data in the last-level cache; 16-bit rows that long are given a workspace for their float sums.

![Rates against length](images/cpu_ratio.svg)

{table(result)}
{product_section(result)}{quantizer_section(result)}{gemm_section(result)}""")


if __name__ == "__main__":
    main()
