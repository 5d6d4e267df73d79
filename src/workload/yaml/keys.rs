//! The keys of workload files.

use crate::document::{Key, Keys, Shape};

/// A memory operand.
const OPERAND: Shape = Shape::Choice(&["I1", "I2", "O"]);

pub(crate) static LAYER: Keys = Keys {
    of: "a layer",
    known: &[
        Key::required("id", Shape::Integer, "", "0", "Number by which other layers name it as their source."),
        Key::optional(
            "name",
            Shape::Text,
            "",
            "`layer_` and the id",
            "conv1",
            "Name in reports and mappings.",
        ),
        Key::required("operator_type", Shape::Text, "", "Conv", "Operator; cores and mappings refer to it."),
        Key::required(
            "equation",
            Shape::Text,
            "",
            "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
            "The output and its two inputs with their indices.",
        ),
        Key::optional(
            "dimension_relations",
            Shape::List(&Shape::Text),
            "",
            "none",
            "[ix=1*ox+1*fx, iy=1*oy+1*fy]",
            "Derived dimensions: stride times an output dimension plus dilation times a filter dimension.",
        ),
        Key::required(
            "loop_dims",
            Shape::List(&Shape::Text),
            "",
            "[B, K, C, OY, OX, FY, FX]",
            "Names of the loops.",
        ),
        Key::required(
            "loop_sizes",
            Shape::List(&Shape::Positive),
            "iterations",
            "[1, 64, 64, 56, 56, 3, 3]",
            "Size of each loop, in the order of `loop_dims`.",
        ),
        Key::required(
            "operand_precision",
            Shape::Map(&Shape::Whole),
            "bits",
            "{O: 16, O_final: 8, W: 8, I: 8}",
            "Bits of an element of each operand; of the output, of a partial sum (`O`) and of a final value (`O_final`).",
        ),
        Key::required(
            "operand_source",
            Shape::Map(&Shape::Integer),
            "",
            "{W: 0, I: 0}",
            "Id of the layer that makes each input; the layer's own id for weights and inputs of the network.",
        ),
        Key::optional(
            "constant_operands",
            Shape::List(&Shape::Text),
            "",
            "inputs without a source, except `I`",
            "[W]",
            "Operands whose contents are known before the run.",
        ),
        Key::optional(
            "pr_loop_dims",
            Shape::List(&Shape::Text),
            "",
            "none",
            "[IX, IY]",
            "Derived dimensions, in the order of `pr_loop_sizes` and `padding`.",
        ),
        Key::optional(
            "pr_loop_sizes",
            Shape::List(&Shape::Positive),
            "elements",
            "the extents that the loops touch",
            "[56, 56]",
            "Real extents of the derived dimensions, padding not counted.",
        ),
        Key::optional(
            "padding",
            Shape::List(&Shape::List(&Shape::Whole)),
            "elements",
            "none",
            "[[1, 1], [1, 1]]",
            "Padding in front of and behind each derived dimension.",
        ),
        Key::optional(
            "memory_operand_links",
            Shape::Map(&OPERAND),
            "",
            "O: O, the constant input: I2, the other: I1",
            "{O: O, W: I2, I: I1}",
            "Memory operand of each operand (Stream's workloads of 2023).",
        ),
    ],
    unmodelled: &["core_allocation", "operand_source_dimension_mapping"],
    ..Keys::NONE
};
