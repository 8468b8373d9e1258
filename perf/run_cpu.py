#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs papillon-perf on one thread and on two and prints the CPU table.

Writes OUT/cpu.json: the machine, the date, the commit, and for each case the best rates (GB/s of bytes read plus
written; elements a second) of the in-place scale loop, Papillon and the peers; and under "kronecker" the best rates
(GFLOP/s, two operations a multiply-add) of Kronecker products, the chain of Eigen's products and, for 2 x 2 factors, the
Hadamard transform of that length; and under "quantize" the best rates (GB/s of input, of dequantize of output) of the
quantiser, with those of the in-place scale loop over as many bytes; and under "gemm" the best rates (GFLOP/s of a classical
product's operations) of matrix products, with their relative errors and those of Eigen and OpenBLAS.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys


def run(binary, threads, out, extra):
    raw = out / f"raw-{threads}.json"
    env = dict(os.environ, OMP_PROC_BIND="false", OMP_NUM_THREADS=str(threads))
    command = [str(binary), f"--kokkos-num-threads={threads}", f"--benchmark_out={raw}", "--benchmark_out_format=json",
               "--benchmark_color=false", *extra]
    log = out / f"log-{threads}.txt"
    with open(log, "w", encoding="utf-8") as stream:
        status = subprocess.run(command, env=env, check=False, stdout=stream, stderr=subprocess.STDOUT).returncode
    if status != 0:
        sys.exit(f"papillon-perf ended with {status}: {log.read_text(errors='replace').strip().splitlines()[-1]}")
    return json.loads(raw.read_text())


def best(raw):
    """{(who, case): (GB/s, elements/s)}, the fastest repetition of each."""
    rates = {}
    for entry in raw["benchmarks"]:
        if entry.get("run_type") != "iteration" or entry.get("error_occurred"):
            continue
        if "bytes_per_second" not in entry:
            continue
        who, scalar, size, length = entry["run_name"].split("/")[:4]
        key = (who, f"{scalar}/{size}/{length}")
        rate = (entry["bytes_per_second"] / 1e9, entry["elements_per_second"])
        rates[key] = max(rates.get(key, (0.0, 0.0)), rate)
    return rates


def best_products(raw):
    """{case: {who: GFLOP/s}} of the Kronecker products, the fastest repetition of each."""
    rates = {}
    for entry in raw["benchmarks"]:
        if entry.get("run_type") != "iteration" or "operations_per_second" not in entry:
            continue
        who, scalar, rows, product = entry["run_name"].split("/")[:4]
        case = rates.setdefault(f"{scalar}/{rows}/{product}", {})
        case[who] = max(case.get(who, 0.0), entry["operations_per_second"] / 1e9)
    return rates


# GFLOP/s of the best of the other libraries on one thread and on two (FastKron tuned for the shape, GPyTorch's chain of
# batched products, one product alone), measured on an EPYC Zen 5 with two cores, and the goal as a multiple of it.
PRODUCT_GOALS = {"float32/1024/2^10": (7.6, 8.9, 1.5), "float32/1024/4^6": (9.8, 15, 1.5), "float32/16/8^5": (53, 86, 1.5),
                 "float32/256/8^5": (35, 53, 1.5), "float32/320/16^4": (73, 101, 1.5), "float32/256/32^3": (123, 175, 1.1),
                 "float32/16/64^3": (137, 235, 1.1), "float32/10/128^2": (171, 357, 1.1)}


def products(one, two):
    """The entries of the Kronecker table, printed on the way."""
    rates, rates_two = best_products(one), best_products(two) if two else {}
    if rates:
        print(f"\n{'Kronecker, GFLOP/s':24} {'Eigen':>7} {'Papillon':>9} {'goal':>7} {'2 threads':>10} {'Eigen':>7} {'goal':>7}")
    table = {}
    for case, who in rates.items():
        second = rates_two.get(case, {})
        peer, peer_two, factor = PRODUCT_GOALS[case]
        entry = {"papillon": who["kronecker"], "eigen": who.get("kronecker_eigen"), "hadamard": who.get("kronecker_hadamard"),
                 "papillon_two_threads": second.get("kronecker"), "eigen_two_threads": second.get("kronecker_eigen"),
                 "hadamard_two_threads": second.get("kronecker_hadamard"), "goal": factor * peer,
                 "goal_two_threads": factor * peer_two, "goal_words": f"{factor} x the best peer"}
        table[case] = entry
        numbers = [entry[key] for key in ("eigen", "papillon", "goal", "papillon_two_threads", "eigen_two_threads",
                                          "goal_two_threads")]
        cells = [f"{number:.1f}" if number else "-" for number in numbers]
        print(f"{case:24} {cells[0]:>7} {cells[1]:>9} {cells[2]:>7} {cells[3]:>10} {cells[4]:>7} {cells[5]:>7}"
              + (f"   Hadamard {entry['hadamard'] / entry['papillon']:.2f} times as fast" if entry["hadamard"] else ""))
    return table


# GB/s of input a thread, and how much faster two threads are to be.
QUANTIZE_GOAL, QUANTIZE_SCALING_GOAL = 1.0, 1.8


def best_quantizer(raw):
    """{who/case: GB/s} of the quantiser, the fastest repetition of each."""
    rates = {}
    for entry in raw["benchmarks"]:
        if entry.get("run_type") != "iteration" or "input_bytes_per_second" not in entry:
            continue
        name = "/".join(part for part in entry["run_name"].split("/") if ":" not in part and part != "real_time")
        rates[name] = max(rates.get(name, 0.0), entry["input_bytes_per_second"] / 1e9)
    return rates


def quantizer(one, two):
    """The entries of the quantiser's table, printed on the way."""
    rates, rates_two = best_quantizer(one), best_quantizer(two) if two else {}
    table = {}
    for name, rate in rates.items():
        who, case = name.split("/", 1)
        if who != "quantize":
            continue
        limit = "quantize_limit/" + case.rsplit("/", 1)[0]
        entry = {"quantize": rate, "dequantize": rates.get("dequantize/" + case), "limit": rates[limit],
                 "goal": QUANTIZE_GOAL, "scaling_goal": QUANTIZE_SCALING_GOAL,
                 "quantize_two_threads": rates_two.get(name), "dequantize_two_threads": rates_two.get("dequantize/" + case),
                 "limit_two_threads": rates_two.get(limit)}
        if not table:
            print(f"\n{'quantize, GB/s of input':58} {'limit':>7} {'Papillon':>9} {'goal':>5} {'2 threads':>10} {'scaling':>8}"
                  f" {'limit x2':>9} {'dequantize':>11}")
        table[case] = entry
        line = f"{case:58} {entry['limit']:7.1f} {rate:9.2f} {entry['goal']:5.1f}"
        if entry["quantize_two_threads"]:
            line += (f" {entry['quantize_two_threads']:10.2f} {entry['quantize_two_threads'] / rate:8.2f}"
                     f" {entry['limit_two_threads'] / entry['limit']:9.2f}")
        else:
            line += f" {'-':>10} {'-':>8} {'-':>9}"
        print(line + f" {entry['dequantize']:11.2f}")
    return table


GEMM_WHO = ("classical", "automatic", "eigen", "openblas")


def best_gemm(raw):
    """{case: {who: {"rate": GFLOP/s, "error": …, "levels": …}}} of matrix products, the fastest repetition of each."""
    cases = {}
    for entry in raw["benchmarks"]:
        if entry.get("run_type") != "iteration" or "gemm_operations_per_second" not in entry:
            continue
        who, scalar, n = entry["run_name"].split("/")[:3]
        found = {"rate": entry["gemm_operations_per_second"] / 1e9, "error": entry["relative_error"],
                 "levels": int(entry.get("levels", 0))}
        case = cases.setdefault(f"{scalar}/{n}", {})
        who = who.removeprefix("gemm_")
        if who not in case or found["rate"] > case[who]["rate"]:
            case[who] = found
    return cases


def matrix_products(one, two):
    """The entries of the table of matrix products, printed on the way."""
    cases, cases_two = best_gemm(one), best_gemm(two) if two else {}
    if cases:
        print(f"\n{'gemm, GFLOP/s':16}" + "".join(f" {who:>10}" for who in GEMM_WHO)
              + "".join(f" {who + ' x2':>12}" for who in GEMM_WHO) + "  of Eigen x2")
    table = {}
    for case, found in cases.items():
        second = cases_two.get(case, {})
        table[case] = {who: dict(found[who], rate_two_threads=second[who]["rate"] if who in second else None)
                       for who in GEMM_WHO if who in found}
        cells = [f"{found[who]['rate']:10.1f}" if who in found else f"{'-':>10}" for who in GEMM_WHO]
        cells += [f"{second[who]['rate']:12.1f}" if who in second else f"{'-':>12}" for who in GEMM_WHO]
        line = f"{case:16} " + " ".join(cells)
        if "automatic" in second and "eigen" in second:
            line += f"  {second['automatic']['rate'] / second['eigen']['rate']:.2f}"
        print(line)
    return table


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def commit(source):
    try:
        head = subprocess.run(["git", "-C", source, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                              check=True).stdout.strip()
        dirty = subprocess.run(["git", "-C", source, "status", "--porcelain", "-uno"], capture_output=True, text=True,
                               check=True).stdout.strip()
        return head + ("+changes" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def goal(case, scale, peers):
    """The goal of the CPU table in GB/s, and in words."""
    scalar, size, length = case.split("/")
    log2_n = int(length.split("^")[1])
    if scalar in ("float16", "bfloat16"):
        return None, "0.6 x f32 elements"
    if size in ("64KiB", "2MiB"):
        return (2.5 * peers["ffht"], "2.5 x FFHT") if "ffht" in peers else (None, "2.5 x FFHT")
    return (0.75 * scale, "0.75 x limit") if log2_n <= 14 else (0.40 * scale, "0.40 x limit")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--source", default=".")
    arguments, extra = parser.parse_known_args()
    extra += shlex.split(os.environ.get("PAPILLON_PERF_ARGS", ""))
    arguments.out.mkdir(parents=True, exist_ok=True)

    one = run(arguments.binary, 1, arguments.out, extra)
    cores = len(os.sched_getaffinity(0))
    two = run(arguments.binary, 2, arguments.out, extra) if cores > 1 else None
    rates, rates_two = best(one), best(two) if two else {}
    cases = [case for who, case in rates if who == "papillon"]
    names = sorted({who for who, _ in rates} - {"papillon", "scale"})
    result = {
        "machine": cpu_model(), "cores": cores, "instruction_set": one["context"]["instruction_set"],
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "commit": commit(arguments.source),
        "unit": "GB/s of bytes read plus written, in place, best of five", "cases": {}}

    print(f"{result['machine']}, {result['instruction_set']}, one thread; {result['unit']}")
    header = f"{'case':24} {'limit':>7} {'Papillon':>9} {'of limit':>9}" + "".join(f" {n:>8}" for n in names)
    print(header + f" {'goal':>20} {'2 threads':>10} {'scaling':>8} {'limit x2':>9}")
    for case in cases:
        scale, papillon = rates[("scale", case)], rates[("papillon", case)]
        peers = {n: rates[(n, case)][0] for n in names if (n, case) in rates}
        scalar, size, length = case.split("/")
        wanted, words = goal(case, scale[0], peers)
        entry = {"scale": scale[0], "papillon": papillon[0], "elements_per_second": papillon[1], "peers": peers,
                 "goal": words, "goal_value": wanted}
        if scalar in ("float16", "bfloat16"):
            number = int("".join(c for c in size if c.isdigit())) * 2
            twin = f"float32/{number}{size.lstrip('0123456789')}/{length}"
            if ("papillon", twin) in rates:
                entry["element_rate_to_f32"] = papillon[1] / rates[("papillon", twin)][1]
                words = f"{entry['element_rate_to_f32']:.2f} (goal 0.60) of f32"
        elif wanted:
            words = f"{wanted:.1f} = {words}"
        line = f"{case:24} {scale[0]:7.1f} {papillon[0]:9.1f} {papillon[0] / scale[0]:9.2f}"
        line += "".join(f" {peers[n]:8.1f}" if n in peers else f" {'-':>8}" for n in names)
        if ("papillon", case) in rates_two:
            second, limit = rates_two[("papillon", case)][0], rates_two[("scale", case)][0]
            entry.update(papillon_two_threads=second, scale_two_threads=limit)
            words = f"{words:>24}"
            line += f" {words} {second:10.1f} {second / papillon[0]:8.2f} {limit / scale[0]:9.2f}"
        else:
            line += f" {words:>24}"
        result["cases"][case] = entry
        print(line)
    result["kronecker"] = products(one, two)
    result["quantize"] = quantizer(one, two)
    result["gemm"] = matrix_products(one, two)
    target = arguments.out / "cpu.json"
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n")
    temporary.rename(target)
    print(f"written: {target}")


if __name__ == "__main__":
    sys.exit(main())
