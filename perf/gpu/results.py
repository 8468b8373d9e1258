# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of papillon-perf-gpu and of the peers, read for the charts and the report."""
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "perf" / "results" / "h200"
SCALARS = ["bf16", "f16", "f32", "i32", "f64"]


def latest() -> Path:
    """The newest results: their names end in a date."""
    return max(FOLDER.glob("hadamard_*.json"))


# Time over that of a copy of x, of Kronecker products of rows x size^count: f32, bf16 (and f16), f64.
KRONECKER_GOALS = {(1024, 2, 10): (2, 2, 2), (65536, 2, 10): (1.3, 1.3, 1.3), (1024, 4, 6): (2, 2, 2),
                   (1024, 8, 5): (1.5, 1.6, 1.5), (1024, 16, 4): (2.0, 1.8, 1.6), (1024, 32, 3): (2.6, 1.8, 1.8),
                   (65536, 32, 2): (1.8, 1.5, 1.4), (1024, 64, 3): (4.8, 1.6, 2.5), (65536, 64, 2): (3.2, 1.4, 1.7),
                   (320, 128, 3): (8.5, 2.2, 4.6)}


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def peers(results: dict) -> dict:
    """The peers' figures: those of peers.json, replaced by those that the run itself measured."""
    others = load(FOLDER / "peers.json")
    for line in results["lines"]:
        dao = line.get("peers", {}).get("dao")
        if dao is None:
            continue
        if line["table"] == "cold":
            others["cold_ratio"].setdefault(f"Dao {line['scalar']}", {})[str(line["n"])] = round(dao["ratio"], 3)
        elif line["table"] == "hot":
            others["hot_us"]["Dao"][str(line["rows"])] = round(dao["us"], 2)
        elif line["table"] == "batch":
            others["batch_us"]["Dao"][str(line["n"])] = round(dao["us"], 2)
    others["cold_ratio"] = {name: others["cold_ratio"][name] for name in ("Dao bf16", "HadaCore bf16", "Dao f32")}
    return others


def lines(results: dict, table: str, scalar: str | None = None) -> list[dict]:
    return [l for l in results["lines"] if l["table"] == table and scalar in (None, l["scalar"])]


def cold_goal(n: int) -> float:
    return 0.97 if n <= 8192 else 0.95


def long_goal(scalar: str, n: int) -> float | None:
    """One pass through a cluster up to 2^18, then two; none was set for f64."""
    if scalar == "f64":
        return None
    if n <= 1 << 18:
        return 0.85
    return 0.48 if n < 1 << 30 else 0.45


def column_goal(scalar: str, n: int, inner: int) -> float | None:
    """For rows of columns of 32 bytes and more."""
    size = {"f64": 8, "f32": 4, "i32": 4}.get(scalar, 2)
    return 0.90 if 1 < n <= 4096 and inner * size >= 32 else None


HOT_GOALS_US = {1: 1.5, 1024: 1.7, 16384: 2.7, 65536: 6.5, 524288: 67, 2097152: 262}
BATCH_GOAL = 1.3  # times the copy
