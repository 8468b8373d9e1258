# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products: the tables of the performance page and the roofline chart, from papillon-perf-gpu-gemm's figures."""
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "papillon"  # the same file from the same figures
import matplotlib.pyplot as plt

import results

SCALARS = ("f32", "f64", "bf16", "f16", "bf16 to f32")
# Speed over cuBLAS's product: of the fastest form for f32 and f64, of the classical product for the others.
GOALS = {("f32", 4096): 1.15, ("f32", 8192): 1.3, ("f32", 16384): 1.4,
         ("f64", 4096): 1.05, ("f64", 8192): 1.12, ("f64", 16384): 1.22}
# NVIDIA's figures for an H200 SXM at its highest clock, TFLOP/s; and TB/s.
PEAKS = {"f32": 66.9, "f64": 66.9, "bf16": 989.0}
MEMORY_TB = 4.8
STYLE = {"cublas": ("x", "0.45", "cuBLAS"), "classical": ("o", "tab:blue", "classical"),
         "automatic": ("^", "tab:red", "automatic")}
BYTES = {"f32": (4, 4), "f64": (8, 8), "bf16": (2, 2), "f16": (2, 2), "bf16 to f32": (2, 4)}


def square(line: dict) -> bool:
    return line["m"] == line["n"] == line["k"]


def flops(line: dict) -> float:
    return 2.0 * line["m"] * line["n"] * line["k"]


def goal(scalar: str, n: int, form: str) -> float | None:
    """What a form is held to, over cuBLAS in the same run."""
    if form == "classical":
        if n <= 1024:
            return 1 / 1.1
        return 0.95 if scalar not in ("f32", "f64") else 1.0
    return GOALS.get((scalar, n)) if form == "automatic" else None


def cell(line: dict, form: str) -> str:
    figures = line["forms"].get(form)
    if figures is None:
        return "–"
    if form == "cublas":
        return f"{flops(line) / figures['us'] * 1e-6:.1f}"
    value = f"{figures['speed']:.3f}"
    wanted = goal(line["scalar"], line["n"], form) if square(line) else 0.9
    return f"**{value}**" if wanted is not None and figures["speed"] < wanted else value


def taken(line: dict) -> str:
    """What `automatic` took: its levels and who multiplied."""
    figures = line["forms"].get("automatic")
    if figures is None:
        return "–"
    lines = dict(l.split(": ", 1) for l in figures["explain"].splitlines() if ": " in l)
    levels = lines.get("algorithm", "classical").split(",")[0]
    return f"{levels}, {'cuBLAS' if lines.get('products by', '').startswith('cuBLAS') else 'own'}"


def error(line: dict, form: str) -> str:
    figures = line["forms"].get(form)
    return "–" if figures is None else f"{figures['error']:.1e}"


def table(head: list[str], rows: list[list[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells) + "\n"


FORMS = ["classical", "strassen 1", "strassen 2", "strassen 3", "strassen 1 over cublas", "strassen 2 over cublas",
         "strassen 3 over cublas", "automatic"]


def speeds(figures: dict) -> str:
    rows = []
    for scalar in SCALARS:
        for line in figures["lines"]:
            if line["scalar"] == scalar and square(line) and line["n"] != 4095:
                rows.append([scalar, str(line["n"]), cell(line, "cublas"), *(cell(line, f) for f in FORMS), taken(line)])
    head = ["scalar", "n", "cuBLAS TFLOP/s", "classical", *(f"Strassen {l}" for l in (1, 2, 3)),
            *(f"{l} over cuBLAS" for l in (1, 2, 3)), "automatic", "it takes"]
    return table(head, rows)


def rectangles(figures: dict) -> str:
    rows = []
    for scalar in SCALARS:
        for line in figures["lines"]:
            if line["scalar"] == scalar and (not square(line) or line["n"] == 4095):
                rows.append([scalar, f"{line['m']} × {line['k']} × {line['n']}", cell(line, "cublas"),
                             cell(line, "classical"), cell(line, "automatic"), taken(line)])
    return table(["scalar", "m × k × n", "cuBLAS TFLOP/s", "classical", "automatic", "it takes"], rows)


def errors(figures: dict) -> str:
    forms = ["cublas", "classical", "strassen 1", "strassen 2", "strassen 3", "winograd 2"]
    rows = [[line["scalar"], str(line["n"]), *(error(line, f) for f in forms)]
            for scalar in SCALARS for line in figures["lines"]
            if line["scalar"] == scalar and square(line) and line["n"] != 4095]
    return table(["scalar", "n", "cuBLAS", "classical", "Strassen 1", "Strassen 2", "Strassen 3", "Winograd 2"], rows)


def section(path: Path) -> str:
    figures = results.load(path)
    return (f"Figures: `{path.resolve().relative_to(results.ROOT)}` ({figures.get('code', 'no commit named')}).\n\n"
            + speeds(figures) + "\nOther shapes.\n\n" + rectangles(figures)
            + "\nRelative error, sqrt(Σ (C - exact)² / Σ exact²) over 8192 elements, sums in twice double's precision as "
              "the reference.\n\n" + errors(figures))


def roofline(path: Path) -> None:
    figures = results.load(path)
    chart, all_axes = plt.subplots(1, 3, figsize=(13, 4.4))
    for axes, scalar in zip(all_axes, ("f32", "f64", "bf16")):
        peak = PEAKS[scalar]
        ends = [1.0, peak / MEMORY_TB, 1e4]
        axes.plot(ends, [min(MEMORY_TB * x, peak) for x in ends], "k-", linewidth=0.8)
        for form, (mark, color, label) in STYLE.items():
            points = [(flops(l) / (BYTES[scalar][0] * (l["m"] * l["k"] + l["k"] * l["n"]) + BYTES[scalar][1] * l["m"] * l["n"]),
                       flops(l) / l["forms"][form]["us"] * 1e-6)
                      for l in figures["lines"] if l["scalar"] == scalar and form in l["forms"]]
            axes.plot([x for x, _ in points], [y for _, y in points], mark, color=color, markersize=4, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(scalar)
        axes.set_xlabel("2 m n k operations a byte of A, B and C")
    all_axes[0].set_ylabel("TFLOP/s, 2 m n k operations counted")
    all_axes[0].legend(fontsize=8, loc="lower right")
    chart.suptitle(f"Matrix products, {figures['card']}; lines: {MEMORY_TB} TB/s and the units' rate at the highest clock")
    folder = results.ROOT / "docs" / "images"
    chart.savefig(folder / "h200_gemm.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(chart)
