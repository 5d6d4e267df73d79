//! The intra-core cost model against ZigZag 3.9.1.
//!
//! `tests/reference/zigzag/` holds what ZigZag 3.9.1 (package `zigzag-dse`, MIT licence) computed:
//! `cores.jsonl` the hardware, `layers.jsonl` the loop nests, `evaluations.jsonl` loop orders with
//! every figure of their evaluation, `spatial.jsonl` the spatial mappings it generated, `search.jsonl`
//! the best of an exhaustive search at an LPF limit of 6. Loops are written innermost first; lists
//! per operand are by memory level, lowest first.

use expect_test::expect;
use millstream::accelerator::Memory;
use millstream::accelerator::{ArrayMapping, CoreKind};
use millstream::cost::imc::{self, ImcParts};
use millstream::cost::{
    Allocation, CostError, Evaluation, Hierarchy, MappingConstraint, Model, Objective, OperandLoops,
    SearchOptions, evaluate, search, spatial_mappings,
};
use millstream::cost::{Cost, CostKey, CostTable, OrderEntry};
use millstream::ids::CoreKindId;
use millstream::workload::Dim;
use millstream::workload::MemoryOperand;
use millstream::workload::nest::LoopNest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

#[derive(Deserialize)]
struct Named {
    name: String,
    nest: LoopNest,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    core: String,
    layer: String,
    spatial: Vec<ArrayMapping>,
    temporal_sizes: Vec<(Dim, u64)>,
    evaluations: Vec<Ordered>,
    /// Arrays that compute in memory: parts of energy (pJ), clock (ns) and area (mm²).
    imc: Option<Imc>,
}

#[derive(Deserialize)]
struct Imc {
    energy: ImcParts,
    clock: ImcParts,
    area: ImcParts,
}

#[derive(Deserialize)]
struct Ordered {
    name: String,
    even: bool,
    order: Vec<(Dim, u64)>,
    error: Option<String>,
    expected: Option<Figures>,
}

#[derive(Deserialize)]
struct Figures {
    total_cycles: f64,
    allocated: BTreeMap<String, Vec<usize>>,
    stationary: BTreeMap<String, Vec<usize>>,
    elements: BTreeMap<String, Vec<u64>>,
    double_buffer: BTreeMap<String, Vec<bool>>,
    words: BTreeMap<String, Vec<[u64; 4]>>,
    stall: f64,
    onload: f64,
    offload: f64,
    latency: [f64; 3],
    energy: f64,
}

struct Reference {
    cores: BTreeMap<String, CoreKind>,
    layers: BTreeMap<String, LoopNest>,
}

fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/zigzag").join(file);
    let text = std::fs::read_to_string(&path).expect("the reference figures are part of the repository");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

impl Reference {
    fn read() -> Self {
        let cores: Vec<CoreKind> = lines("cores.jsonl");
        let layers: Vec<Named> = lines("layers.jsonl");
        Self {
            cores: cores.into_iter().map(|core| (core.name.clone(), core)).collect(),
            layers: layers.into_iter().map(|layer| (layer.name, layer.nest)).collect(),
        }
    }
}

/// The first quantity that differs, in the order in which the model computes them.
#[derive(Default)]
struct Difference(Option<String>);

impl Difference {
    fn check<T: PartialEq + Debug>(&mut self, name: &str, ours: &T, theirs: &T) {
        if self.0.is_none() && ours != theirs {
            self.0 = Some(format!("{name}: {ours:?}, reference {theirs:?}"));
        }
    }
}

fn by_operand<T: Clone>(nest: &LoopNest, values: &[T]) -> BTreeMap<String, T> {
    nest.operands.iter().zip(values).map(|(operand, value)| (operand.name.clone(), value.clone())).collect()
}

fn ends(loops: &[OperandLoops]) -> BTreeMap<String, Vec<usize>> {
    (loops.iter())
        .map(|operand| {
            let ends = operand.levels.iter().scan(0, |end, level| {
                *end += level.len();
                Some(*end)
            });
            (operand.operand.clone(), ends.collect())
        })
        .collect()
}

fn compare(nest: &LoopNest, ours: &Evaluation, theirs: &Figures, sizes: &Vec<(Dim, u64)>) -> Option<String> {
    let cost = &ours.cost;
    let mut difference = Difference::default();
    difference.check("temporal sizes", &ours.temporal_sizes, sizes);
    difference.check("allocated", &ends(&ours.allocated), &theirs.allocated);
    difference.check("stationary", &ends(&cost.temporal_mapping), &theirs.stationary);
    difference.check("total cycles", &cost.temporal.0, &theirs.total_cycles);
    difference.check("elements", &by_operand(nest, &ours.elements), &theirs.elements);
    difference.check("words", &by_operand(nest, &ours.words), &theirs.words);
    difference.check("double buffering", &by_operand(nest, &ours.double_buffering), &theirs.double_buffer);
    difference.check("stall", &cost.stall.0, &theirs.stall);
    difference.check("onload", &cost.onload.0, &theirs.onload);
    difference.check("offload", &cost.offload.0, &theirs.offload);
    let totals =
        [cost.temporal.0 + cost.stall.0, cost.temporal.0 + cost.stall.0 + cost.onload.0, cost.latency.0];
    difference.check("latency", &totals, &theirs.latency);
    if difference.0.is_none() && (cost.energy.0 - theirs.energy).abs() > 1e-9 * theirs.energy {
        difference.check("energy", &cost.energy.0, &theirs.energy);
    }
    difference.0
}

#[test]
fn evaluations_equal_the_reference() {
    let reference = Reference::read();
    let mut differing = Vec::new();
    let (mut equal, mut rejected) = (0, 0);
    for record in lines::<Record>("evaluations.jsonl") {
        let nest = &reference.layers[&record.layer];
        let core = &reference.cores[&record.core];
        let hierarchy = Hierarchy::of(core, &[], None);
        for ordered in &record.evaluations {
            let allocation = if ordered.even { Allocation::Even } else { Allocation::Uneven };
            let ours = evaluate(
                nest,
                &hierarchy,
                &core.name,
                &record.spatial,
                &ordered.order,
                allocation,
                Model::Zigzag,
            );
            let difference = match (&ours, &ordered.expected) {
                (Ok(ours), Some(theirs)) => compare(nest, ours, theirs, &record.temporal_sizes),
                (Err(CostError::DoesNotFit { .. } | CostError::TopTooSmall { .. }), None) => {
                    rejected += 1;
                    None
                }
                (ours, _) => Some(format!("{:?}, reference {:?}", ours.as_ref().err(), ordered.error)),
            };
            match difference {
                None => equal += 1,
                Some(text) => differing.push(format!("{} {}: {text}", record.id, ordered.name)),
            }
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert_eq!((equal, rejected), (523, 12));
}

/// The same evaluations through the search: an order given whole is the only one.
#[test]
fn imposed_orders_are_what_is_costed() {
    let reference = Reference::read();
    let mut differing = Vec::new();
    let (mut equal, mut rejected) = (0, 0);
    for record in lines::<Record>("evaluations.jsonl") {
        let (nest, core) = (&reference.layers[&record.layer], &reference.cores[&record.core]);
        let hierarchy = Hierarchy::of(core, &[], None);
        for ordered in record.evaluations.iter().filter(|ordered| !ordered.even) {
            let order = ordered.order.iter().map(|(dim, size)| OrderEntry::Loop(dim.clone(), Some(*size)));
            let constraint = MappingConstraint {
                fixed: record.spatial.clone(),
                order: order.collect(),
                ..MappingConstraint::default()
            };
            let ours = search(nest, &hierarchy, &core.name, &constraint, &SearchOptions::default());
            match (&ours, &ordered.expected) {
                (Ok(ours), Some(theirs)) if ours.latency.0 == theirs.latency[2] => equal += 1,
                (Err(CostError::DoesNotFit { .. } | CostError::TopTooSmall { .. }), None) => rejected += 1,
                _ => differing.push(format!("{} {}: {ours:?}", record.id, ordered.name)),
            }
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert_eq!((equal, rejected), (461, 12));
}

/// `[K, "*"]`, `*`, `[C, 2]`: K innermost, half of C outermost, the rest is searched.
#[test]
fn an_order_given_in_part_filters_the_search() {
    let reference = Reference::read();
    let (nest, core) = (&reference.layers["conv3x3"], &reference.cores["tpu_like"]);
    let hierarchy = Hierarchy::of(core, &[], None);
    let found = |order: &[OrderEntry]| {
        let constraint = MappingConstraint { order: order.to_vec(), ..MappingConstraint::default() };
        search(nest, &hierarchy, &core.name, &constraint, &SearchOptions::default())
    };
    let free = found(&[]).expect("it fits");
    let outer = |cost: &Cost| {
        let levels = &cost.temporal_mapping[0].levels;
        let mut loops = levels.iter().flatten();
        (loops.next().cloned(), levels.iter().flatten().next_back().cloned())
    };
    let (inner, outermost) = outer(&free);
    let (inner, outermost) = (inner.expect("a loop"), outermost.expect("a loop"));
    // What the search found admits itself; the other way round it finds something not better.
    let same = [
        OrderEntry::Loop(inner.0.clone(), None),
        OrderEntry::Rest,
        OrderEntry::Loop(outermost.0.clone(), Some(outermost.1)),
    ];
    let again = found(&same).expect("it fits");
    assert_eq!((again.energy, again.latency), (free.energy, free.latency));
    assert!(again.evaluated < free.evaluated + free.pruned);
    let turned = [OrderEntry::Loop(outermost.0.clone(), None)];
    let turned = found(&turned).expect("it fits");
    assert_eq!(outer(&turned).0.expect("a loop").0, outermost.0);
    assert!(turned.energy.0 * turned.latency.0 >= free.energy.0 * free.latency.0);
    let none = [OrderEntry::Loop(Dim::new("K"), Some(3)), OrderEntry::Loop(Dim::new("C"), Some(5))];
    expect![[r#"`temporal_ordering` K 3, C 5 (innermost first) fits no order of the loops K 2, OX 2, OY 56, C 64, FX 3, FY 3: sizes must multiply to those of the loops that are left in time; `[K, "*"]` fixes a position without a size"#]].assert_eq(&found(&none).expect_err("no factor is 3").to_string());
}

#[test]
fn in_memory_arrays_equal_the_reference_part_by_part() {
    let reference = Reference::read();
    let mut records = 0;
    for record in lines::<Record>("evaluations.jsonl") {
        let Some(theirs) = &record.imc else {
            continue;
        };
        let (nest, core) = (&reference.layers[&record.layer], &reference.cores[&record.core]);
        let hierarchy = Hierarchy::of(core, &[], None);
        let energy = imc::layer_energy(nest, &hierarchy, &core.name, &record.spatial).expect("it fits");
        let machine = core.array.imc.expect("the record is of such an array");
        let clock = imc::clock(&core.array, machine);
        let area = imc::area(&core.array, machine);
        for (ours, theirs) in [(energy, theirs.energy), (clock, theirs.clock), (area, theirs.area)] {
            for (ours, theirs) in ours.parts().into_iter().zip(theirs.parts()) {
                let close = (ours - theirs).abs() <= 1e-9 * theirs;
                assert!(close, "{}: {ours}, reference {theirs}", record.id);
            }
        }
        records += 1;
    }
    assert_eq!(records, 18);
}

#[derive(Deserialize)]
struct Generated {
    core: String,
    layer: String,
    mapping: String,
    fixed: Vec<ArrayMapping>,
    hints: Vec<(String, Vec<Dim>)>,
    mix: bool,
    found: Vec<Vec<ArrayMapping>>,
}

/// Factors on each array dimension, in one spelling.
fn shown(mapping: &[ArrayMapping]) -> String {
    let mut words: Vec<String> = (mapping.iter())
        .flat_map(|entry| entry.unrolled.iter().map(|(dim, f)| format!("{}:{dim}{f}", entry.array_dim)))
        .collect();
    words.sort();
    words.join(" ")
}

/// The figure by which the reference ranks mappings (MODEL.md 3.1).
fn indicator(mapping: &[ArrayMapping]) -> f64 {
    let mut totals: BTreeMap<&Dim, f64> = BTreeMap::new();
    for (dim, factor) in mapping.iter().flat_map(|entry| &entry.unrolled) {
        *totals.entry(dim).or_insert(1.0) *= factor;
    }
    let units: f64 = totals.values().product();
    units + units / totals.values().fold(1.0, |a, b| f64::max(a, *b)) - 1.0
}

/// Fixed mappings are equal; generated ones have equal ranks, and every one of the reference is among
/// ours: which of several equal ones it keeps depends there on the order of a hash set.
#[test]
fn spatial_mappings_equal_the_reference() {
    let reference = Reference::read();
    let mut differing = Vec::new();
    let (mut same, mut tied) = (0, 0);
    for case in lines::<Generated>("spatial.jsonl") {
        let core = &reference.cores[&case.core];
        let nest = &reference.layers[&case.layer];
        let hierarchy = Hierarchy::of(core, &[], None);
        let constraint =
            MappingConstraint { fixed: case.fixed, hints: case.hints, mix: case.mix, order: Vec::new() };
        let kept = |count| {
            let kept = spatial_mappings(nest, &hierarchy, &core.name, &constraint, count, Model::Zigzag);
            kept.expect("the reference maps the layer")
        };
        let show = |mappings: &[Vec<ArrayMapping>]| -> Vec<String> {
            mappings.iter().map(|mapping| shown(mapping)).collect()
        };
        let (ours, theirs) = (show(&kept(3)), show(&case.found));
        if ours == theirs {
            same += 1;
            continue;
        }
        let rank = |mappings: &[Vec<ArrayMapping>]| -> Vec<f64> {
            mappings.iter().map(|mapping| indicator(mapping)).collect()
        };
        let all = show(&kept(1000));
        if rank(&kept(3)) == rank(&case.found) && theirs.iter().all(|mapping| all.contains(mapping)) {
            tied += 1;
        } else {
            differing.push(format!(
                "{}/{}/{}: {ours:?}, reference {theirs:?}",
                case.core, case.layer, case.mapping
            ));
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert_eq!((same, tied), (97, 12));
}

#[derive(Deserialize)]
struct Searched {
    id: String,
    core: String,
    nest: LoopNest,
    spatial: Vec<ArrayMapping>,
    permutations: u64,
    valid: u64,
    energy: (f64, f64),
    latency: (f64, f64),
    edp: (f64, f64),
    orders: [String; 3],
}

#[test]
fn searches_equal_the_reference() {
    let reference = Reference::read();
    let mut differing = Vec::new();
    for case in lines::<Searched>("search.jsonl") {
        let core = &reference.cores[&case.core];
        let hierarchy = Hierarchy::of(core, &[], None);
        let constraint = MappingConstraint { fixed: case.spatial, ..MappingConstraint::default() };
        let expected = [
            (Objective::Energy, case.energy, &case.orders[0]),
            (Objective::Latency, case.latency, &case.orders[1]),
            (Objective::Edp, case.edp, &case.orders[2]),
        ];
        for (objective, (energy, latency), order) in expected {
            let options = SearchOptions { objective, ..SearchOptions::default() };
            let ours = search(&case.nest, &hierarchy, &core.name, &constraint, &options).expect("it fits");
            let mut difference = Difference::default();
            difference.check("latency", &ours.latency.0, &latency);
            if (ours.energy.0 - energy).abs() > 1e-9 * energy {
                difference.check("energy", &ours.energy.0, &energy);
            }
            difference.check("order", &spelled(&ours.temporal_mapping[0]), order);
            difference.check("orders", &(ours.evaluated + ours.pruned), &case.permutations);
            if objective == Objective::Latency {
                // The other objectives also skip orders by a bound.
                difference.check("rejected", &ours.pruned, &(case.permutations - case.valid));
            }
            if let Some(text) = difference.0 {
                differing.push(format!("{} {objective}: {text}", case.id));
            }
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

/// The loop order as the reference writes it, innermost first.
fn spelled(loops: &OperandLoops) -> String {
    let words: Vec<String> =
        loops.levels.iter().flatten().map(|(dim, factor)| format!("{dim}{factor}")).collect();
    words.join(" ")
}

fn best(nest: &LoopNest, hierarchy: &Hierarchy, objective: Objective) -> Cost {
    let options = SearchOptions { objective, ..SearchOptions::default() };
    search(nest, hierarchy, "core", &MappingConstraint::default(), &options).expect("it fits")
}

#[test]
fn a_cost_shows_latency_energy_and_loops() {
    let reference = Reference::read();
    let core = &reference.cores["tpu_like"];
    let hierarchy = Hierarchy::of(core, &[], None);
    let fixed = |array_dim: &str, dim| ArrayMapping {
        array_dim: array_dim.to_owned(),
        unrolled: vec![(Dim::new(dim), 32.0)],
    };
    let constraint =
        MappingConstraint { fixed: vec![fixed("D1", "K"), fixed("D2", "C")], ..Default::default() };
    let options = SearchOptions { objective: Objective::Energy, ..SearchOptions::default() };
    let cost = search(&reference.layers["conv3x3"], &hierarchy, &core.name, &constraint, &options);
    let cost = cost.expect("it fits");
    expect![[r#"
        latency 138048 cycles
          computation         112896  81.8 %  all 1024 units busy
          on-load              25088  18.2 %  first tiles from the top memory to the array
          off-load                 2     0 %  last results from the array to the top memory
          drain                   62  0.04 %  of the systolic array

        unrolled D1: K 32   D2: C 32
        loop          O        W         I
        K 2    sram_2MB  rf_128B  sram_2MB
        OX 56  sram_2MB  rf_128B  sram_2MB
        OY 56  sram_2MB  rf_128B  sram_2MB
        FX 3      rf_2B  rf_128B  sram_2MB
        FY 3      rf_2B  rf_128B  sram_2MB
        C 2       rf_2B  rf_128B  sram_2MB

        energy          I1        I2         O        pJ   share
        array                                    4624220   6.9 %
        rf_128B             10986025            10986025  16.4 %
        rf_2B                          4990304   4990304  7.45 %
        sram_2MB   6169516              622935   6792451  10.1 %
        dram      17561600   3225600  18816000  39603200  59.1 %
        total                                   66996200   100 %

        words     operand  read down  written from below  read up  written from above
        rf_128B        I2  115605504                                            36864
        rf_2B           O  115605504           115605504  6422528
        sram_2MB       I1      14112                                              784
        sram_2MB        O                            784      784
        dram           I1      25088
        dram           I2       4608
        dram            O                          25088

        port                          carries  bits/cycle  stall   slack
        rf_128B.r_port_1                I2 tl           8      0       0
        rf_128B.w_port_1                I2 fh           8      0       0
        rf_2B.r_port_1                   O tl          16      0       0
        rf_2B.r_port_2                   O th          16      0  106607
        rf_2B.w_port_2                   O fl          16      0       0
        sram_2MB.r_port_1         I1 tl, O th        2048      0       0
        sram_2MB.w_port_1         I1 fh, O fl        2048      0       0
        dram.rw_port_1     I1 tl, I2 tl, O fl          64      0       0
    "#]]
    .assert_eq(&cost.show(&hierarchy));
    expect![[r#"
        latency  138048 cycles = 112896 temporal + 0 stall + 25088 onload + 2 offload + 62 drain
        utilisation 81.8 %
        energy   66996200 pJ, of which the array 4624220
        unrolled D1: K 32   D2: C 32
        loop    O   W   I
        K 2    L1  L0  L0
        OX 56  L1  L0  L0
        OY 56  L1  L0  L0
        FX 3   L0  L0  L0
        FY 3   L0  L0  L0
        C 2    L0  L0  L0
    "#]]
    .assert_eq(&cost.to_string());
}

/// The core without its DRAM, and the DRAM.
fn split(core: &CoreKind) -> (CoreKind, Memory) {
    let mut chip = core.clone();
    let dram = chip.memories.pop().expect("the reference's cores end with DRAM");
    (chip, dram)
}

#[test]
fn streaming_every_operand_is_having_the_memory() {
    let reference = Reference::read();
    let core = &reference.cores["tpu_like"];
    let (chip, dram) = split(core);
    let all = [MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O];
    let streamed = Hierarchy::of(&chip, &all, Some(&dram));
    let nest = &reference.layers["conv3x3"];
    let ours = best(nest, &streamed, Objective::Energy);
    let whole = best(nest, &Hierarchy::of(core, &[], None), Objective::Energy);
    assert_eq!(Cost { streamed: Vec::new(), ..ours.clone() }, whole);
    // The layer passes DRAM once: 64x56x56 inputs and outputs, 64x64x3x3 weights of 8 bits.
    let bits: Vec<(MemoryOperand, u64, u64)> =
        ours.streamed.iter().map(|traffic| (traffic.operand, traffic.read, traffic.write)).collect();
    assert_eq!(
        bits,
        [
            (MemoryOperand::O, 0, 64 * 56 * 56 * 8),
            (MemoryOperand::I2, 64 * 64 * 9 * 8, 0),
            (MemoryOperand::I1, 64 * 56 * 56 * 8, 0)
        ]
    );
}

#[test]
fn a_layer_with_one_input_reads_it_once() {
    let reference = Reference::read();
    let core = &reference.cores["tpu_like"];
    let mut nest = reference.layers["add"].clone();
    nest.operands.retain(|operand| operand.memory != MemoryOperand::I2);
    let cost = best(&nest, &Hierarchy::of(core, &[], None), Objective::Energy);
    // DRAM words of 64 bits: 64x56x56 elements of 8 bits in, as many out.
    let dram: Vec<u64> =
        cost.accesses.iter().filter(|access| access.memory == 3).map(|access| access.words).collect();
    assert_eq!(dram, [25_088, 25_088]);
    assert_eq!(cost.operations, 64 * 56 * 56);
}

#[test]
fn a_core_that_cannot_hold_the_layer_says_why() {
    let reference = Reference::read();
    let (chip, _) = split(&reference.cores["tpu_like"]);
    let hierarchy = Hierarchy::of(&chip, &[], None);
    let error = |nest: &LoopNest| {
        search(nest, &hierarchy, "tpu_like", &MappingConstraint::default(), &SearchOptions::default())
            .expect_err("its weights exceed the registers")
            .to_string()
    };
    expect![
        "rf_128B is the highest memory of W: its part of the tensor has 196608 bits, one instance holds 1024"
    ]
    .assert_eq(&error(&reference.layers["gemm_d012_big"]));
    let mut registers = hierarchy.clone();
    registers.memories.truncate(2);
    let error = search(
        &reference.layers["conv3x3"],
        &registers,
        "tpu_like",
        &MappingConstraint::default(),
        &SearchOptions::default(),
    );
    expect!["operand I (I1) is held by no memory of core tpu_like"]
        .assert_eq(&error.expect_err("nothing holds the input").to_string());
}

#[test]
fn equal_keys_are_costed_once() {
    let reference = Reference::read();
    let hierarchy = Hierarchy::of(&reference.cores["tpu_like"], &[], None);
    let key = |layer: &str| CostKey {
        nest: reference.layers[layer].clone(),
        kind: CoreKindId(0),
        spatial: MappingConstraint::default(),
        streamed: Vec::new(),
        options: SearchOptions::default(),
    };
    let keys = [key("gemm_m1"), key("gemm_m16"), key("gemm_m1"), key("add")];
    let compute = |key: &CostKey| search(&key.nest, &hierarchy, "tpu_like", &key.spatial, &key.options);
    let table = CostTable::new();
    table.fill(&keys, compute);
    assert_eq!(table.distinct(), 3);
    for key in &keys {
        let known = table.get(key, || panic!("the table is full"));
        assert_eq!(known, compute(key).map(Arc::new).map_err(Arc::new));
    }
}
