#!/usr/bin/env python3
"""Runs the three measured chips and prints the table of docs/accuracy.md.

    python3 docs/accuracy.py target/release/millstream [--stream DIR]

Every chip with transfers that overlap computation (`--prefetch 1`) and without (`--prefetch 0`), with our costs of
CNs, and with those of Stream's run if `--stream` names the folder of its results (`depfin/schedule.csv`, …: columns
core, layer, runtime, onchip_energy). Needs nothing but Python.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

WORKLOADS = Path(__file__).parent.parent / "workloads"
# Chip, workload, priority of CNs as in Stream's validation, its case, its cycles, measured cycles.
CHIPS = [
    ("depfin", "depfin_fsrcnn", "memory", "depfin", 6_370_024, 6_180_000),
    ("diana", "diana_resnet18_segment", "memory", "diana_test", 791_852, 812_000),
    ("jia_aimc", "jia_resnet50_segment", "latency", "verma_ocn", 63_820, 66_302),
]


def layers(workload):
    """Names of the layers of a workload, in the order of the file."""
    lines = (WORKLOADS / f"{workload}.yaml").read_text().splitlines()
    return [line.split(":", 1)[1].strip() for line in lines if line.strip().startswith("name:")]


def injected(schedule, names, file):
    """Stream's runtime and energy of each layer's CNs as a costs file."""
    with open(schedule, newline="") as source:
        rows = {(int(row["layer"]), row["core"]): row for row in csv.DictReader(source)}
    ids = sorted({layer for layer, _ in rows})
    if len(ids) != len(names):
        sys.exit(f"{schedule}: {len(ids)} layers, the workload has {len(names)}")
    table = csv.writer(file)
    table.writerow(["layer", "core", "latency_cycles", "ideal_cycles", "energy_pj"])
    for (layer, core), row in sorted(rows.items()):
        energy = row["onchip_energy"]
        table.writerow([names[ids.index(layer)], core, row["runtime"], row["ideal_runtime"], energy])
    file.flush()


def latency(program, chip, workload, priority, prefetch, costs):
    command = [program, "run", "-w", workload, "-a", chip, "-m", chip, "--policy", "fixed", "--format", "json"]
    command += ["--priority", priority, "--core-objective", "latency", "--prefetch", str(prefetch)]
    command += ["--costs", costs] if costs else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["latency_cycles"]


def grouped(number):
    return f"{number:,}".replace(",", " ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--stream", type=Path)
    given = parser.parse_args()
    print("| chip | costs of CNs | prefetch | cycles | of measured |")
    print("|---|---|---|---|---|")
    for chip, workload, priority, case, stream, measured in CHIPS:
        print(f"| {chip} | measured | | {grouped(measured)} | 100 % |")
        print(f"| {chip} | Stream's own run | | {grouped(stream)} | {100 * stream / measured:.1f} % |")
        with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
            sources = [("Millstream", None)]
            if given.stream:
                injected(given.stream / case / "schedule.csv", layers(workload), file)
                sources.append(("Stream", file.name))
            for name, costs in sources:
                for prefetch in [0, 1]:
                    ours = latency(given.program, chip, workload, priority, prefetch, costs)
                    print(f"| {chip} | {name} | {prefetch} | {grouped(ours)} | {100 * ours / measured:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
