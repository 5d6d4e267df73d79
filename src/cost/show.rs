//! A cost as an architect reads it: latency split, energy by memory, loops with memory boundaries.
