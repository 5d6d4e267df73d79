#!/usr/bin/env python3
"""Makes the tables of the README.

    cargo build --release && python3 docs/tables.py target/release/millstream [table ...]

Tables: `line` (ResNet-18 and FSRCNN on every accelerator, fused and layer by layer), `networks` (every
network in ONNX on five accelerators), `policies` (three networks, three accelerators, every policy).
Without a name all are made. Default options; needs nothing but Python. Prints each row as it comes;
`--print` leaves the README alone.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
WORKLOADS = README.parent / "workloads"
MODES = ["fused", "layer-by-layer"]
FIVE = ["tpu_like_quad_core", "hetero_quad_core", "meta_prototype_quad_core", "simba_2x2", "chiplets_4x4"]
STUDY = ["resnet18", "mobilenetv2", "fsrcnn"], ["tpu_like_quad_core", "hetero_quad_core", "chiplets_4x4"]
POLICIES = ["greedy", "random", "genetic", "ilp"]


def grouped(number):
    return f"{number:,}".replace(",", " ")


def line_of(cells):
    row = f"| {' | '.join(cells)} |"
    print(row, flush=True)
    return row


def heading(*cells):
    return [f"| {' | '.join(cells)} |", "|" + "---|" * len(cells)]


def listed(program, section):
    """Names that `millstream list` prints in its section (0: workloads, 1: accelerators)."""
    text = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text.split("\n\n")[section].splitlines()[1:]]


def answer(command):
    """What a command prints as JSON, else the reason."""
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout), None
    if done.returncode != 1:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return None, (lines or ["no message"])[-1].strip().removeprefix("error: ")


def run(program, network, accelerator, mode):
    return answer([program, "run", "-w", network, "-a", accelerator, "--mode", mode])


def figures(summary):
    """Latency, energy, EDP and the gaps of the first two."""
    gaps = [f"{100 * summary['gap'][name]:.0f} %" for name in ["latency", "energy"]]
    energy = f"{summary['energy_pj']['total'] / 1e9:.3g}"
    return [grouped(summary["latency_cycles"]), energy, f"{summary['edp']:.3g}", *gaps]


FIGURES = ["latency, cycles", "energy, mJ", "EDP, pJ x cycles", "gap latency", "gap energy"]


def line(program):
    rows = heading("network", "accelerator", "mode", *FIGURES, "seconds")
    for network in ["resnet18", "fsrcnn"]:
        for accelerator in listed(program, 1):
            for mode in MODES:
                start = time.monotonic()
                summary, reason = run(program, network, accelerator, mode)
                seconds = f"{time.monotonic() - start:.1f}"
                cells = figures(summary) if summary else [f"infeasible: {reason}", "", "", "", ""]
                rows.append(line_of([network, accelerator, mode, *cells, seconds]))
    return rows


def networks(program):
    rows = heading("network", "accelerator", "mode", *FIGURES)
    for network in [name for name in listed(program, 0) if (WORKLOADS / f"{name}.onnx").exists()]:
        for accelerator in FIVE:
            results = [run(program, network, accelerator, mode) for mode in MODES]
            found = [summary for summary, _ in results if summary]
            if found:
                best = min(found, key=lambda summary: summary["edp"])
                cells = [best["mode"], *figures(best)]
            else:
                cells = [f"infeasible: {results[1][1]}", "", "", "", "", ""]
            rows.append(line_of([network, accelerator, *cells]))
    return rows


def policies(program):
    rows = heading("network", "accelerator", "bound", *POLICIES)
    for network in STUDY[0]:
        for accelerator in STUDY[1]:
            with tempfile.TemporaryDirectory() as folder:
                command = [program, "compare", "-w", network, "-a", accelerator, "-o", folder]
                found, reason = answer([*command, "--policies", ",".join(POLICIES)])
                if not found:
                    rows.append(line_of([network, accelerator, f"infeasible: {reason}", "", "", "", ""]))
                    continue
                seconds = json.loads((Path(folder) / "timing.json").read_text())["policy_seconds"]
            results = {row["policy"]: row["found"] for row in found["rows"]}
            best = min(result["edp"] for result in results.values() if result)
            bound = found["bound"]["energy"] * found["bound"]["latency"]
            cells = []
            for policy in POLICIES:
                result = results[policy]
                value = f"{result['edp']:.3g}"
                value = f"**{value}**" if result["edp"] == best else value
                searched = f"{result['simulations']} in {seconds[policy]:.1f} s"
                cells.append(f"{value}, {100 * result['gap']:.0f} %, {searched}")
            rows.append(line_of([network, accelerator, f"{bound:.3g}", *cells]))
    return rows


TABLES = {"line": line, "networks": networks, "policies": policies}


def main():
    program, *names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    for name in names or TABLES:
        rows = TABLES[name](program)
        if "--print" in sys.argv:
            continue
        begin, end = f"<!-- table: {name} -->", "<!-- end of table -->"
        before, rest = README.read_text().split(begin)
        after = rest.split(end, 1)[1]
        README.write_text(before + "\n".join([begin, "", *rows, "", end]) + after)


if __name__ == "__main__":
    main()
