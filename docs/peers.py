#!/usr/bin/env python3
"""Runs Millstream on the inputs of its peers and prints the tables of docs/peers.md.

    python3 docs/peers.py target/release/millstream --stream-2024 DIR --stream-2.1.1 DIR --two-conv FILE [--study DIR]

    --stream-2024   `stream/inputs/examples` of Stream at commit c5742c6e (folders `hardware`, `workload`)
    --stream-2.1.1  folder of `tpu_like_quad_core.yaml` and `simba_small.yaml` in the package stream-dse 2.1.1
    --two-conv      `stream/inputs/testing/workload/2conv_1_8_32_32_16_32_3.onnx` of Stream in 2026
    --study         the small chains of convolutions (folders `hardware`, `workload`)

The pair of convolutions for AccelForge is ours (docs/peers/). Every run is verified; needs nothing but Python.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
AS_2024 = ["--mix=false"]  # the spatial mapping generator of 2024 does not mix loops on an array dimension
AS_FILE = ["--precision", "file"]


def cases(folders):
    """Peer's name, its cycles, its EDP, and our arguments."""
    old, new = folders.stream_2024, folders.stream_2_1_1
    quad = ["-a", old / "hardware/tpu_like_quad_core.yaml", *AS_2024]
    resnet18, fsrcnn = old / "workload/resnet18.onnx", old / "workload/fsrcnn.onnx"
    whole, rows = ["--mode", "layer-by-layer"], ["--mode", "fused"]
    yield "ResNet-18, layer by layer: fixed round robin", 6_372_974, 1.885e16, ["-w", resnet18, *quad, *whole]
    yield "ResNet-18, layer by layer: genetic", 6_037_843, 1.752e16, ["-w", resnet18, *quad, *whole]
    yield "ResNet-18, layer by layer: Gurobi, K splits", 4_874_549, 1.360e16, ["-w", resnet18, *quad, *whole]
    yield "ResNet-18, fused: fixed round robin", 6_178_918, 1.479e16, ["-w", resnet18, *quad, *rows]
    yield "ResNet-18, fused: genetic", 4_750_832, 1.141e16, ["-w", resnet18, *quad, *rows]
    yield "FSRCNN, fused: fixed round robin", 53_008_472, 2.316e17, ["-w", fsrcnn, *quad, *rows]
    if folders.study:
        for cores, mode, allocation, cycles, edp in [
            (2, whole, "Gurobi", 98_914, 6.154e12),
            (2, whole, "K split", 92_537, 6.024e12),
            (2, rows, "Gurobi", 57_352, 9.185e11),
            (4, whole, "Gurobi", 95_133, 5.432e12),
            (4, whole, "K split", 91_222, 9.375e12),
            (4, rows, "fixed", 47_915, 7.924e11),
        ]:
            accelerator = folders.study / f"hardware/testing_{cores}core.yaml"
            chain = ["-w", folders.study / "workload/test_4layers.onnx", "-a", accelerator, *AS_2024, *mode]
            yield f"four layers, {cores} cores, {mode[1]}: {allocation}", cycles, edp, chain
    tpu, simba = new / "tpu_like_quad_core.yaml", new / "simba_small.yaml"
    two = ["-w", folders.two_conv, "-a", tpu, *AS_FILE]
    yield "2conv, bf16: automatic", 15_340, None, two
    yield "2conv, bf16: best seen", 12_692, None, two
    yield "ResNet-18, float32: automatic", 7_739_942, None, ["-w", resnet18, "-a", tpu, *AS_FILE]
    yield "FSRCNN, int8: automatic", 3_125_489, None, ["-w", fsrcnn, "-a", tpu, *AS_FILE]
    yield "ResNet-18, float32, Simba 2x2", 8_616_549, None, ["-w", resnet18, "-a", simba, *AS_FILE]
    pair = ["-w", HERE / "peers/conv_pair.yaml", "-a", HERE / "peers/array32.yaml"]
    yield "AccelForge: pair of convolutions, 16 KiB", 10_736, None, pair


def run(program, arguments, objective):
    command = [program, "run", *map(str, arguments), "--objective", objective, "--format", "json"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout), seconds


def grouped(number):
    return f"{number:,}".replace(",", " ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name in ["--stream-2024", "--stream-2.1.1", "--two-conv"]:
        parser.add_argument(name, type=Path, required=True, dest=name[2:].replace("-", "_").replace(".", "_"))
    parser.add_argument("--study", type=Path)
    folders = parser.parse_args()
    print("| case, allocation | cycles | EDP | Millstream, cycles | ratio | bound | EDP | ratio | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    known = {}
    for case, cycles, edp, arguments in cases(folders):
        key = tuple(map(str, arguments))
        if key not in known:
            known[key] = [run(folders.program, arguments, objective) for objective in ["latency", "edp"]]
        (fast, seconds), (good, _) = known[key]
        theirs = f"{edp:.3g}" if edp else ""
        gain = f"{edp / good['edp']:.2f}" if edp else ""
        latency, bound = fast["latency_cycles"], fast["bound"]["latency_cycles"]
        ours = [grouped(latency), f"{cycles / latency:.2f}", grouped(bound), f"{good['edp']:.3g}", gain, f"{seconds:.1f}"]
        print(f"| {' | '.join([case, grouped(cycles), theirs, *ours])} |", flush=True)


if __name__ == "__main__":
    main()
