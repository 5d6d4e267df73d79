//! The keys of accelerator and core files.

use crate::document::{Key, Keys, Shape};

const COMPUTE_OR_MEMORY: Shape = Shape::Pattern(r"^(.*\.)?(compute|memory|offchip)$");
const CORE_LIST: Shape =
    Shape::Any(&[Shape::List(&Shape::Whole), Shape::Pattern(r"^ *[0-9]+ *(, *[0-9]+ *)*$")]);
const MOVED: Shape = Shape::Pattern(r"^ *(I1|I2|O) *, *(fh|fl|th|tl) *$");
/// `K, 16`.
pub(crate) const UNROLLED: Shape = Shape::Pattern(r"^ *[^, ][^,]*, *[0-9.]+([eE][+-]?[0-9]+)? *$");
const OPERAND: Shape = Shape::Choice(&["I1", "I2", "O"]);

pub(crate) static ACCELERATOR: Keys = Keys {
    of: "an accelerator",
    known: &[
        Key::required("name", Shape::Text, "", "quad_core", "Name in reports."),
        Key::required(
            "cores",
            Shape::Any(&[Shape::Map(&Shape::Text), Shape::List(&Shape::Text)]),
            "",
            "{0: tpu_like.yaml, 1: dram.yaml}",
            "The core file of each core by its number; a list counts from 0. Files are looked for beside this file, then in its `cores` folder.",
        ),
        Key::optional(
            "core_coordinates",
            Shape::Map(&Shape::List(&Shape::Integer)),
            "",
            "none",
            "{0: [0, 0], 1: [1, 0]}",
            "Position of cores in a mesh.",
        ),
        Key::optional(
            "offchip_core_id",
            Shape::Any(&[Shape::Whole, Shape::List(&Shape::Whole)]),
            "",
            "cores whose file says `type: offchip` or whose array is empty",
            "1",
            "Number of the core (or of several) that fronts external memory.",
        ),
        Key::optional(
            "offchip_core",
            Shape::Text,
            "",
            "none",
            "dram.yaml",
            "Core file of an external memory that `cores` does not list (files of 2024).",
        ),
        Key::optional(
            "unit_energy_cost",
            Shape::Real,
            "pJ per active cycle",
            "0",
            "0.5",
            "Energy of connections that give none themselves.",
        ),
        Key::optional(
            "bandwidth",
            Shape::Any(&[Shape::Positive, Shape::Map(&Shape::Unread)]),
            "bits per cycle",
            "none",
            "32",
            "Bandwidth of connections in the short form `0, 1` (files of 2024). A map of ports is noted and not modelled.",
        ),
        Key::optional(
            "core_connectivity",
            Shape::List(&Shape::Any(&[Shape::Object(&CONNECTION), CORE_LIST])),
            "",
            "every core gets a link to DRAM as wide as the DRAM's widest port",
            "[{type: link, cores: [0, 1], bandwidth: 64}]",
            "Links and buses; `0, 1` is short for a link of the accelerator's `bandwidth`, with more cores a bus.",
        ),
        Key::optional(
            "core_memory_sharing",
            Shape::List(&CORE_LIST),
            "",
            "no sharing",
            "['0, 1']",
            "Groups of cores with common top memories, the owner first.",
        ),
        Key::optional(
            "chiplets",
            Shape::Map(&CORE_LIST),
            "",
            "one die",
            "{0: [0, 1], 1: [2, 3]}",
            "Cores of each die, all but DRAM; connections between dies are of class d2d.",
        ),
        Key::optional(
            "graph",
            Shape::Object(&GRAPH),
            "",
            "none",
            "{type: 2d_mesh, nb_rows: 2, nb_cols: 2, bandwidth: 32, unit_energy_cost: 0}",
            "Shape of the network in files before 2024, in place of `core_connectivity`.",
        ),
    ],
    unmodelled: &["technology_node", "memory_aliases"],
    ..Keys::NONE
};

pub(super) static GRAPH: Keys = Keys {
    of: "the graph of an accelerator",
    known: &[
        Key::required(
            "type",
            Shape::Choice(&["2d_mesh", "bus"]),
            "",
            "2d_mesh",
            "A mesh of the cores without a role, column by column, or one bus that joins them.",
        ),
        Key::optional(
            "nb_rows",
            Shape::Positive,
            "",
            "none; a mesh needs it",
            "2",
            "Rows of a mesh (files before 2024).",
        ),
        Key::optional(
            "nb_cols",
            Shape::Positive,
            "",
            "none; a mesh needs it",
            "2",
            "Columns of a mesh (files before 2024).",
        ),
        Key::optional(
            "bandwidth",
            Shape::Any(&[Shape::Positive, Shape::Map(&Shape::Unread)]),
            "bits per cycle",
            "the accelerator's `bandwidth`",
            "32",
            "Bandwidth of every connection (files before 2024).",
        ),
        Key::optional(
            "unit_energy_cost",
            Shape::Real,
            "pJ per active cycle",
            "the accelerator's `unit_energy_cost`",
            "0.5",
            "Energy of an active cycle of a connection.",
        ),
        Key::optional(
            "pooling_core_id",
            Shape::Whole,
            "",
            "none",
            "4",
            "Number of the pooling core, which has a link to every core without a role.",
        ),
        Key::optional(
            "simd_core_id",
            Shape::Whole,
            "",
            "none",
            "5",
            "Number of the SIMD core, which has a link to every core without a role.",
        ),
        Key::optional(
            "offchip_core_id",
            Shape::Any(&[Shape::Whole, Shape::List(&Shape::Whole)]),
            "",
            "the accelerator's `offchip_core_id`",
            "6",
            "Number of the core that fronts external memory.",
        ),
    ],
    ..Keys::NONE
};

pub(crate) static CONNECTION: Keys = Keys {
    of: "a connection",
    known: &[
        Key::required(
            "type",
            Shape::Choice(&["link", "bus"]),
            "",
            "link",
            "A link joins two cores in both directions at once; a bus joins any number, one transfer at a time.",
        ),
        Key::required("cores", Shape::List(&Shape::Whole), "", "[0, 1]", "Numbers of the cores it joins."),
        Key::required(
            "bandwidth",
            Shape::Positive,
            "bits per cycle",
            "64",
            "Bandwidth, per direction of a link.",
        ),
        Key::optional(
            "unit_energy_cost",
            Shape::Real,
            "pJ per active cycle",
            "the accelerator's `unit_energy_cost`",
            "0.5",
            "Energy of an active cycle. Excludes `energy_per_bit`.",
        ),
        Key::optional(
            "energy_per_bit",
            Shape::Real,
            "pJ per bit",
            "none",
            "0.02",
            "Energy of a bit that crosses it. Excludes `unit_energy_cost`.",
        ),
        Key::optional(
            "latency",
            Shape::Whole,
            "cycles",
            "0",
            "4",
            "Cycles from the last bit's departure to its arrival.",
        ),
        Key::optional(
            "class",
            Shape::Choice(&["noc", "d2d", "bus", "offchip"]),
            "",
            "`offchip` if it reaches DRAM, else `noc` for links and `bus` for buses",
            "d2d",
            "What it is physically: network on chip, die to die, bus, or off-chip.",
        ),
    ],
    ..Keys::NONE
};

pub(crate) static CORE: Keys = Keys {
    of: "a core",
    known: &[
        Key::required("name", Shape::Text, "", "tpu_like", "Name in reports."),
        Key::optional(
            "type",
            COMPUTE_OR_MEMORY,
            "",
            "`offchip` if the array is empty, else `compute`",
            "compute",
            "`compute`, `memory` or `offchip`; a prefix such as `zigzag.` does not count.",
        ),
        Key::required(
            "memories",
            Shape::Map(&Shape::Object(&MEMORY)),
            "",
            "{sram: {size: 2097152}}",
            "Memories by name, the one nearest to the array first; the order is part of the model.",
        ),
        Key::optional(
            "operational_array",
            Shape::Object(&ARRAY),
            "",
            "`multipliers`; one of the two must be there",
            "{unit_energy: 0.04, unit_area: 1, dimensions: [D1, D2], sizes: [32, 32]}",
            "The array of operational units; `multipliers` before 2024.",
        ),
        Key::optional(
            "multipliers",
            Shape::Object(&ARRAY),
            "",
            "`operational_array`",
            "{multiplier_energy: 0.04, multiplier_area: 1, dimensions: [D1, D2], sizes: [32, 32]}",
            "Name of `operational_array` before 2024.",
        ),
        Key::optional(
            "dataflows",
            Shape::Map(&Shape::List(&UNROLLED)),
            "",
            "the cost model's generator chooses",
            "{D1: ['K, 32'], D2: ['C, 32']}",
            "Loops unrolled over each array dimension, where the mapping does not say.",
        ),
        Key::optional(
            "operator_types",
            Shape::List(&Shape::Text),
            "",
            "all operators",
            "[MaxPool, AveragePool]",
            "Operators the core executes. A core that lists a layer's operator is preferred to one without a list.",
        ),
        Key::optional(
            "overlap_transfers",
            Shape::Truth,
            "",
            "true",
            "false",
            "Whether transfers may overlap computation; `false` switches prefetching off for the core.",
        ),
    ],
    unmodelled: &[
        "operand_precision",
        "banks",
        "dma",
        "stripe",
        "kernel_library",
        "reconfiguration",
        "max_object_fifo_depth",
        "buffer_descriptors",
        "utilization",
        "source_file",
    ],
    ..Keys::NONE
};

pub(crate) static MEMORY: Keys = Keys {
    of: "a memory",
    known: &[
        Key::required("size", Shape::Positive, "bits", "2097152", "Capacity of one instance."),
        Key::required(
            "r_cost",
            Shape::Real,
            "pJ per word",
            "26.01",
            "Energy of reading one word of the read bandwidth.",
        ),
        Key::required(
            "w_cost",
            Shape::Real,
            "pJ per word",
            "23.65",
            "Energy of writing one word of the write bandwidth.",
        ),
        Key::optional("area", Shape::Real, "mm²", "0", "0.1", "Area of one instance."),
        Key::optional(
            "latency",
            Shape::Whole,
            "cycles",
            "1",
            "1",
            "Access latency, as ZigZag's files give it.",
        ),
        Key::required(
            "operands",
            Shape::List(&OPERAND),
            "",
            "[I1, I2, O]",
            "Memory operands it holds: I1 (usually activations), I2 (usually weights), O (outputs).",
        ),
        Key::required(
            "ports",
            Shape::List(&Shape::Any(&[Shape::Object(&PORT), Shape::Object(&OLD_PORT)])),
            "",
            "[{name: rw, type: read_write, bandwidth_max: 64, allocation: ['I1, tl', 'I1, fh']}]",
            "Ports; in files of 2024 one entry per operand instead.",
        ),
        Key::required(
            "served_dimensions",
            Shape::List(&Shape::Text),
            "",
            "[D1, D2]",
            "Array dimensions along which one instance serves all units; there is an instance per unit along the others.",
        ),
        Key::optional(
            "force_double_buffering",
            Shape::Truth,
            "",
            "false",
            "true",
            "Half of the capacity holds the next tile.",
        ),
        Key::optional(
            "shared_instance",
            Shape::Text,
            "",
            "none",
            "l2",
            "Cores that give their top memory the same name share one instance.",
        ),
        Key::optional(
            "r_bw",
            Shape::Positive,
            "bits per cycle",
            "none; needed in files of 2024",
            "64",
            "Read bandwidth of all ports (files of 2024).",
        ),
        Key::optional(
            "w_bw",
            Shape::Positive,
            "bits per cycle",
            "none; needed in files of 2024",
            "64",
            "Write bandwidth of all ports (files of 2024).",
        ),
        Key::optional("r_port", Shape::Whole, "", "0", "1", "Number of read ports (files of 2024)."),
        Key::optional("w_port", Shape::Whole, "", "0", "1", "Number of write ports (files of 2024)."),
        Key::optional(
            "rw_port",
            Shape::Whole,
            "",
            "0",
            "0",
            "Number of ports that read or write (files of 2024).",
        ),
        Key::optional(
            "min_r_granularity",
            Shape::Positive,
            "bits",
            "`r_bw`",
            "64",
            "Narrowest read (files of 2024).",
        ),
        Key::optional(
            "min_w_granularity",
            Shape::Positive,
            "bits",
            "`w_bw`",
            "64",
            "Narrowest write (files of 2024).",
        ),
    ],
    // The last six are of DeFiNES; its ports repeat what of it counts.
    unmodelled: &[
        "auto_cost_extraction",
        "double_buffering_support",
        "mem_type",
        "banks",
        "bank",
        "random_bank_access",
        "level_of_operand",
        "unroll_count",
        "r_bw_min",
        "w_bw_min",
    ],
    repeatable: &["ports"],
    ..Keys::NONE
};

pub(crate) static ARRAY: Keys = Keys {
    of: "an operational array",
    known: &[
        Key::optional(
            "unit_energy",
            Shape::Real,
            "pJ per operation",
            "none; needed without `multiplier_energy`",
            "0.04",
            "Energy of one operation of one unit.",
        ),
        Key::optional(
            "unit_area",
            Shape::Real,
            "mm²",
            "none; needed without `multiplier_area`",
            "1",
            "Area of one unit.",
        ),
        Key::optional(
            "multiplier_energy",
            Shape::Real,
            "pJ per operation",
            "`unit_energy`",
            "0.04",
            "`unit_energy` in files of 2024.",
        ),
        Key::optional(
            "multiplier_area",
            Shape::Real,
            "mm²",
            "`unit_area`",
            "1",
            "`unit_area` in files of 2024.",
        ),
        Key::required(
            "dimensions",
            Shape::List(&Shape::Text),
            "",
            "[D1, D2]",
            "Names of the array's dimensions.",
        ),
        Key::required(
            "sizes",
            Shape::List(&Shape::Whole),
            "units",
            "[32, 32]",
            "Units along each dimension; 0 for a core that computes nothing.",
        ),
        Key::optional(
            "systolic_dimensions",
            Shape::List(&Shape::Text),
            "",
            "none",
            "[D2]",
            "Dimensions along which results take a cycle per unit to drain.",
        ),
        Key::optional(
            "is_imc",
            Shape::Truth,
            "",
            "false",
            "false",
            "In-memory computing; `true` is refused.",
        ),
    ],
    unmodelled: &["input_precision", "imc_type", "bit_serial_precision", "adc_resolution"],
    ..Keys::NONE
};

pub(crate) static PORT: Keys = Keys {
    of: "a port",
    known: &[
        Key::required("name", Shape::Text, "", "r_port_1", "Name in reports."),
        Key::required(
            "type",
            Shape::Choice(&["read", "write", "read_write"]),
            "",
            "read_write",
            "What it can do.",
        ),
        Key::required(
            "bandwidth_max",
            Shape::Positive,
            "bits per cycle",
            "64",
            "Width of one access: a word.",
        ),
        Key::optional(
            "bandwidth_min",
            Shape::Positive,
            "bits per cycle",
            "`bandwidth_max`",
            "8",
            "Narrowest access; transfers between cores count such words.",
        ),
        Key::required(
            "allocation",
            Shape::List(&MOVED),
            "",
            "['I1, tl', 'O, th']",
            "What moves through it: an operand and a direction. `tl` and `th` read the memory towards the lower and the higher one, `fh` and `fl` write it from there.",
        ),
    ],
    ..Keys::NONE
};

pub(crate) static OLD_PORT: Keys = Keys {
    of: "the ports of one operand",
    known: &[
        Key::optional(
            "fh",
            Shape::Text,
            "",
            "none",
            "w_port_1",
            "Port that is written from the higher memory (files of 2024).",
        ),
        Key::optional(
            "tl",
            Shape::Text,
            "",
            "none",
            "r_port_1",
            "Port that is read towards the lower memory (files of 2024).",
        ),
        Key::optional(
            "fl",
            Shape::Text,
            "",
            "none",
            "w_port_1",
            "Port that is written from the lower memory (files of 2024).",
        ),
        Key::optional(
            "th",
            Shape::Text,
            "",
            "none",
            "r_port_1",
            "Port that is read towards the higher memory (files of 2024).",
        ),
    ],
    ..Keys::NONE
};
