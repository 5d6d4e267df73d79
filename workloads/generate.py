#!/usr/bin/env python3
"""Writes the networks of this directory: ONNX models without weights.

    python -m venv venv && venv/bin/pip install onnx && venv/bin/python workloads/generate.py

Weights are declared as external data in files that do not exist, so that a model takes a few
kilobytes; Millstream needs their shapes only. The output is the same bytes on every run. Every
batch normalisation is folded into the convolution before it, as in an export for inference.
"""

from convolutional import CONVOLUTIONAL
from tiny import TINY
from transformers import TRANSFORMERS

if __name__ == "__main__":
    for network in [*CONVOLUTIONAL, *TINY, *TRANSFORMERS]:
        network()
