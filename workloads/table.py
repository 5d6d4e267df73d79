#!/usr/bin/env python3
"""Writes the table of shipped networks on shipped accelerators into the README.

    cargo build --release && python3 workloads/table.py target/release/millstream

Every network runs on every accelerator fused and layer by layer with default options; the row is
that of the smaller energy-delay product, or the reason why neither runs. Needs nothing but Python.
Prints each row as it comes; `--print` leaves the README alone.
"""

import json
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- table: workloads/table.py -->", "<!-- end of table -->"
ACCELERATORS = [
    "tpu_like_quad_core",
    "hetero_quad_core",
    "meta_prototype_quad_core",
    "simba_2x2",
    "chiplets_4x4",
]
HEADING = [
    "| network | accelerator | mode | latency, cycles | energy, mJ | EDP, pJ x cycles | gap latency | gap energy |",
    "|---|---|---|---|---|---|---|---|",
]


def networks(program):
    """Names of the shipped networks in ONNX, from `millstream list`."""
    listed = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout
    section = listed.split("\n\n")[0].splitlines()[1:]
    names = [line.split()[0] for line in section]
    return [name for name in names if (README.parent / "workloads" / f"{name}.onnx").exists()]


def run(program, network, accelerator, mode):
    command = [program, "run", "-w", network, "-a", accelerator, "--mode", mode, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout), None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return None, (lines or ["no message"])[-1].strip().removeprefix("error: ")


def row(program, network, accelerator):
    results = [run(program, network, accelerator, mode) for mode in ["fused", "layer-by-layer"]]
    found = [summary for summary, _ in results if summary]
    if not found:
        return f"| {network} | {accelerator} | infeasible: {results[1][1]} | | | | | |"
    best = min(found, key=lambda summary: summary["edp"])
    latency = f"{best['latency_cycles']:,}".replace(",", " ")
    energy = f"{best['energy_pj']['total'] / 1e9:.3g}"
    gaps = [f"{100 * best['gap'][name]:.0f} %" for name in ["latency", "energy"]]
    cells = [network, accelerator, best["mode"], latency, energy, f"{best['edp']:.3g}", *gaps]
    return f"| {' | '.join(cells)} |"


def main():
    program = next(argument for argument in sys.argv[1:] if not argument.startswith("--"))
    rows = []
    for network in networks(program):
        for accelerator in ACCELERATORS:
            rows.append(row(program, network, accelerator))
            print(rows[-1], flush=True)
    if "--print" in sys.argv:
        return
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    table = "\n".join([BEGIN, *HEADING, *rows, END])
    README.write_text(before + table + after)


if __name__ == "__main__":
    main()
