//! The keys of mapping files.

use crate::accelerator::UNROLLED;
use crate::document::{Key, Keys, Shape};

const TEXT_SPLIT: Shape = Shape::Pattern(r"^[^,]*, *(all|\*|\+?0*[1-9][0-9]*) *$");
const SPLIT: Shape = Shape::Any(&[TEXT_SPLIT, Shape::Object(&TILING)]);
/// Splits, or a list of alternatives of which the first counts.
const SPLITS: Shape = Shape::Any(&[Shape::List(&SPLIT), Shape::List(&Shape::List(&SPLIT))]);
const CORES: Shape = Shape::Any(&[Shape::List(&Shape::Whole), Shape::List(&Shape::List(&Shape::Whole))]);

pub(crate) static FILE: Keys = Keys {
    of: "a mapping",
    known: &[
        Key::optional(
            "layers",
            Shape::List(&Shape::Object(&ENTRY)),
            "",
            "everything is left open",
            "[{name: Conv, core_allocation: [0, 1]}]",
            "Entries. A file that is a list is this list.",
        ),
        Key::optional(
            "fused_groups",
            Shape::List(&Shape::Object(&GROUP)),
            "",
            "`--stacks` decides",
            "[{name: first, layers: [conv1, conv2]}]",
            "Fused stacks, in order.",
        ),
    ],
    unmodelled: &["runtime_args"],
    ..Keys::NONE
};

pub(crate) static ENTRY: Keys = Keys {
    of: "the mapping of a layer",
    known: &[
        Key::required(
            "name",
            Shape::Text,
            "",
            "conv1",
            "A layer's name, else an operator (`Conv`), else `default`: the first that applies counts.",
        ),
        Key::optional(
            "core_allocation",
            CORES,
            "",
            "all cores that execute the operator",
            "[0, 1]",
            "Numbers of the cores the layer may run on.",
        ),
        Key::optional(
            "core_allocation_is_fixed",
            Shape::Truth,
            "",
            "false",
            "true",
            "With as many cores as parts, each part runs on the core of its position.",
        ),
        Key::optional(
            "intra_core_tiling",
            SPLITS,
            "",
            "the mode decides",
            "['OY, all']",
            "Cuts in time, the fastest loop first: `OY, all` (pieces of 1), `K, 4` (4 pieces), `K, *` (the policy chooses), or a map. An empty list means uncut.",
        ),
        Key::optional(
            "inter_core_tiling",
            SPLITS,
            "",
            "the policy decides",
            "['K, 4']",
            "Cuts over cores, written like `intra_core_tiling`.",
        ),
        Key::optional(
            "allocation",
            CORES,
            "",
            "the policy decides",
            "[0, 1, 0, 1]",
            "The core of each part, as a result's mapping.yaml has it.",
        ),
        Key::optional(
            "rank",
            Shape::Whole,
            "",
            "the policy decides",
            "3",
            "Rank of the layer in the order, as a result's mapping.yaml has it.",
        ),
        Key::optional(
            "spatial_mapping",
            Shape::Map(&Shape::List(&UNROLLED)),
            "",
            "the core's `dataflows`",
            "{D1: ['K, 32'], D2: ['C, 32']}",
            "Loops unrolled over each array dimension.",
        ),
        Key::optional(
            "spatial_mapping_hint",
            Shape::Map(&Shape::List(&Shape::Text)),
            "",
            "all loops",
            "{D1: [K, OX]}",
            "Loops the generator may unroll over an array dimension.",
        ),
        Key::optional(
            "temporal_ordering",
            Shape::List(&Shape::Any(&[
                Shape::Choice(&["*"]),
                Shape::List(&Shape::Any(&[Shape::Positive, Shape::Text])),
            ])),
            "",
            "searched",
            "[[OX, 112], [FX, '*'], '*', [K, 2]]",
            "Loops inside a core, from the innermost: `[OX, 112]`, `[OX, '*']` for any size, `'*'` for any loops. Sizes that multiply to all that is left in time are the order itself; else each entry fixes a position, from the inside, or behind `'*'` from the outside.",
        ),
        Key::optional(
            "memory_operand_links",
            Shape::Map(&Shape::Choice(&["I1", "I2", "O"])),
            "",
            "O: O, W: I2, I: I1",
            "{O: O, W: I2, I: I1}",
            "The memory operand of each operand of the layer.",
        ),
    ],
    unmodelled: &["kernel"],
    repeatable: &["core_allocation_is_fixed"],
    ..Keys::NONE
};

pub(crate) static GROUP: Keys = Keys {
    of: "a fused group",
    known: &[
        Key::optional("name", Shape::Text, "", "none", "first", "A name for the reader; it has no effect."),
        Key::required(
            "layers",
            Shape::List(&Shape::Text),
            "",
            "[conv1, conv2]",
            "Names of the layers, in order.",
        ),
        Key::optional(
            "intra_core_tiling",
            Shape::List(&Shape::Object(&TILING)),
            "",
            "that of the layers' entries",
            "[{dim: conv1.OY, tile: 1}]",
            "Cuts in time of its layers; `dim` is the layer and the dimension.",
        ),
    ],
    ..Keys::NONE
};

pub(crate) static TILING: Keys = Keys {
    of: "a tiling",
    known: &[
        Key::required("dim", Shape::Text, "", "OY", "The loop dimension."),
        Key::optional(
            "split",
            Shape::Any(&[Shape::Positive, Shape::Choice(&["all", "*"])]),
            "pieces",
            "none; one of `split` and `tile` is needed",
            "4",
            "How many pieces.",
        ),
        Key::optional(
            "tile",
            Shape::Positive,
            "iterations",
            "none; one of `split` and `tile` is needed",
            "2",
            "How large a piece is.",
        ),
    ],
    ..Keys::NONE
};
