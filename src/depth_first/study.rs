//! One point of a study: all tiles of all stacks, costed.
//!
//! Each layer of a tile reads its maps from the lowest memory that holds all of them and leaves its output
//! in the lowest that holds it (beside the inputs, if they lie there too), the last one in DRAM. Weights come
//! from DRAM for the first tile of a stack, later from where they fit. If no mapping fits, the output
//! goes one memory higher, then the inputs, then both, and so on (MODEL.md 6). If then nothing fits, the
//! lowest memories of maps are bypassed: two maps to be added may be too much for one of 1 KiB.

use super::copies::{Copied, Copy, copied};
use super::levels::{Plan, TileType, plan};
use super::network::Network;
use super::stacks::{Maps, Stack, ranges};
use super::{Machine, Overlap, Rules, TileSize};
use crate::cost::{Cost, CostError, CostTable, SearchOptions, SharedCost, search};
use crate::workload::MemoryOperand;
use crate::workload::MemoryOperand::{I1, O};
use crate::workload::nest::LoopNest;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// What is studied.
pub struct Study<'a> {
    network: &'a Network,
    machine: &'a Machine,
    /// Search over mappings of each layer of a tile.
    search: &'a SearchOptions,
    /// Costs of tiles.
    table: &'a CostTable<TileKey>,
    rules: Rules,
    /// Extents of all whole maps.
    maps: Maps,
}

/// What the cost of a layer of a tile depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileKey {
    nest: LoopNest,
    /// Layer, which has a spatial mapping.
    stage: usize,
    /// Memories up to which I1, I2 and O may go.
    tops: [usize; 3],
    /// Lowest memories of I1 that it does without.
    bypassed: usize,
}

/// A point that has no schedule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("layer {layer} in a tile of {columns} x {rows}: {source}")]
pub struct PointError {
    /// Layer.
    pub layer: String,
    /// Columns of the layer's output.
    pub columns: u64,
    /// Rows.
    pub rows: u64,
    /// Why.
    pub source: Box<CostError>,
}

/// One point: a tile size and a mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Tile size asked for.
    pub tile: String,
    /// Mode.
    pub overlap: Overlap,
    /// Layers of each stack.
    pub stacks: Vec<Vec<String>>,
    /// Everything, in picojoules.
    pub energy_pj: f64,
    /// All cycles; by the reference's rules without those of sending results away.
    pub latency_cycles: f64,
    /// Operations of the array.
    pub operations: u64,
    /// Energy of the operations.
    pub compute_energy_pj: f64,
    /// Energy of copies.
    pub copy_energy_pj: f64,
    /// Cycles of copies.
    pub copy_cycles: u64,
    /// Cycles of operations without loss.
    pub ideal_cycles: f64,
    /// Cycles of the loops.
    pub temporal_cycles: f64,
    /// Cycles for which the array waits.
    pub stall_cycles: f64,
    /// Cycles of loading first tiles.
    pub onload_cycles: f64,
    /// Cycles of sending last tiles.
    pub offload_cycles: f64,
    /// Most bits of maps alive at once.
    pub peak_alive_bits: u64,
    /// With the columns kept, if any are.
    pub peak_with_columns_bits: Option<u64>,
    /// With columns and rows kept, if both are.
    pub peak_with_rows_bits: Option<u64>,
    /// Most bits of weights of a stack.
    pub weight_bits: u64,
    /// Memories chosen for columns.
    pub column_levels: BTreeSet<String>,
    /// Memories chosen for rows.
    pub row_levels: BTreeSet<String>,
    /// Memories chosen for weights.
    pub weight_levels: BTreeSet<String>,
    /// Tiles of all stacks.
    pub tiles: u64,
    /// Types of tiles of all stacks.
    pub tile_types: usize,
}

/// A layer of a type of tile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TileLayer {
    /// Layer; none for what is loaded from outside before.
    pub layer: Option<String>,
    /// Tiles of this type.
    pub count: u64,
    /// Columns and rows computed.
    pub outputs: [u64; 2],
    /// Memory of the inputs.
    pub input_memory: Option<String>,
    /// Memory of the output.
    pub output_memory: String,
    /// Bits of each copy before it, with memories.
    pub copies: Vec<(u64, String, String)>,
    /// Energy of the copies.
    pub copy_energy_pj: f64,
    /// Cycles of the copies.
    pub copy_cycles: u64,
    /// Cost.
    #[serde(skip)]
    pub cost: Option<Arc<Cost>>,
}

impl<'a> Study<'a> {
    /// A network on a core; costs of equal tiles are found in the table.
    pub fn new(
        network: &'a Network,
        machine: &'a Machine,
        search: &'a SearchOptions,
        table: &'a CostTable<TileKey>,
        rules: Rules,
    ) -> Self {
        Self { network, machine, search, table, rules, maps: Maps::new(network, rules) }
    }

    /// The layers.
    pub fn network(&self) -> &Network {
        self.network
    }

    /// Evaluates a tile size in a mode, with stacks that end behind the layers `cuts` and the last one.
    ///
    /// # Errors
    /// [`PointError`]: a layer of a tile that no mapping fits.
    pub fn point(&self, cuts: &[usize], tile: TileSize, overlap: Overlap) -> Result<Point, PointError> {
        let mut point = Point::new(tile, overlap);
        for stages in ranges(cuts, self.network.stages.len()) {
            self.add_stack(&mut point, stages, tile, overlap)?;
        }
        Ok(point)
    }

    /// Evaluates a tile size in a mode for one stack alone.
    ///
    /// # Errors
    /// As [`Self::point`].
    pub fn stack_point(
        &self,
        stages: Range<usize>,
        tile: TileSize,
        overlap: Overlap,
    ) -> Result<Point, PointError> {
        let mut point = Point::new(tile, overlap);
        self.add_stack(&mut point, stages, tile, overlap)?;
        Ok(point)
    }

    /// Every layer of every type of tile, in the order in which they run.
    ///
    /// # Errors
    /// As [`Self::point`].
    pub fn layers(
        &self,
        cuts: &[usize],
        tile: TileSize,
        overlap: Overlap,
    ) -> Result<Vec<TileLayer>, PointError> {
        let mut all = Vec::new();
        for stages in ranges(cuts, self.network.stages.len()) {
            all.extend(self.stack(stages, tile, overlap)?.2);
        }
        Ok(all)
    }

    fn add_stack(
        &self,
        point: &mut Point,
        stages: Range<usize>,
        tile: TileSize,
        overlap: Overlap,
    ) -> Result<(), PointError> {
        let (stack, plan, layers) = self.stack(stages, tile, overlap)?;
        point.add_stack(self, &stack, &plan, overlap);
        layers.iter().for_each(|layer| point.add(layer, self.rules));
        Ok(())
    }

    fn stack(
        &self,
        stages: Range<usize>,
        tile: TileSize,
        overlap: Overlap,
    ) -> Result<(Stack, Plan, Vec<TileLayer>), PointError> {
        let stack = Stack::new(self.network, &self.maps, stages);
        let tile = tile.within(stack.extents[stack.nodes() - 1]);
        let plan = plan(self.network, self.machine, &stack, tile, overlap, self.rules);
        let mut layers = Vec::new();
        for tile in &plan.types {
            self.tile(&stack, &plan, tile, &mut layers)?;
        }
        Ok((stack, plan, layers))
    }

    fn tile(
        &self,
        stack: &Stack,
        plan: &Plan,
        tile: &TileType,
        layers: &mut Vec<TileLayer>,
    ) -> Result<(), PointError> {
        let running = Running { study: self, stack, plan, tile };
        let mut places: Vec<usize> = Vec::with_capacity(stack.nodes());
        for node in 0..stack.outside.len() {
            let (place, layer) = running.load(node);
            places.push(place);
            layers.push(layer);
        }
        for stage in 0..stack.edges.len() {
            let (place, layer) = running.layer(stage, &places)?;
            places.push(place);
            layers.push(layer);
        }
        Ok(())
    }

    fn cost(&self, stage: usize, nest: LoopNest, tops: [usize; 3], bypassed: usize) -> SharedCost {
        let key = TileKey { nest, stage, tops, bypassed };
        let description = &self.network.stages[stage];
        self.table.get(&key, || {
            let hierarchy = self.machine.up_to(tops, description.has_second_map(), bypassed);
            search(&key.nest, &hierarchy, &self.machine.kind.name, &description.constraint, self.search)
        })
    }
}

/// A tile on its way through the stack.
struct Running<'a> {
    study: &'a Study<'a>,
    stack: &'a Stack,
    plan: &'a Plan,
    tile: &'a TileType,
}

impl Running<'_> {
    /// Elements along both axes that the tile computes or loads of a map.
    fn outputs(&self, node: usize) -> [u64; 2] {
        [self.tile.x.outputs[node], self.tile.y.outputs[node]]
    }

    fn bits_per_place(&self, node: usize) -> u64 {
        match node.checked_sub(self.stack.outside.len()) {
            Some(stage) => self.study.network.stages[self.stack.stages.start + stage].bits_per_place(0),
            None => self.stack.outside[node].bits,
        }
    }

    fn bits(&self, node: usize) -> u64 {
        self.outputs(node).iter().product::<u64>() * self.bits_per_place(node)
    }

    /// Loads the new part of a map from outside.
    fn load(&self, node: usize) -> (usize, TileLayer) {
        let machine = self.study.machine;
        let bits = self.bits(node);
        let place = machine.lowest(I1, |memory| machine.capacity(memory) >= bits);
        let loads =
            (place != machine.dram()).then_some(Copy { bits, from: (I1, machine.dram()), to: (I1, place) });
        let mut copies: Vec<Copy> = loads.into_iter().collect();
        if self.study.rules == Rules::Padded {
            self.leave(node, (I1, place), &mut copies);
        }
        (place, self.record(node, None, (None, place), &copies, None))
    }

    /// Runs a layer: finds its memories, its cost, and the copies before it.
    fn layer(&self, stage: usize, places: &[usize]) -> Result<(usize, TileLayer), PointError> {
        let machine = self.study.machine;
        let node = self.stack.node(stage);
        if self.outputs(node).contains(&0) {
            return Ok(self.idle(stage, places));
        }
        let input: u64 = (self.stack.edges[stage].iter().enumerate())
            .map(|(at, edge)| {
                self.tile.x.inputs[stage][at].span * self.tile.y.inputs[stage][at].span * edge.bits
            })
            .sum();
        let output = self.bits(node);
        let lowest_input = machine.lowest(I1, |memory| machine.capacity(memory) >= input);
        let last = stage + 1 == self.stack.edges.len();
        let lowest_output = match last {
            true => machine.dram(),
            false => machine.lowest(O, |memory| {
                let beside = if memory == lowest_input { input } else { 0 };
                machine.capacity(memory) >= output + beside
            }),
        };
        let weights = if self.tile.first { machine.dram() } else { self.plan.weights };
        let needed: Vec<[u64; 2]> = self.tile.x.inputs[stage]
            .iter()
            .zip(&self.tile.y.inputs[stage])
            .map(|(x, y)| [x.span, y.span])
            .collect();
        let position = self.stack.stages.start + stage;
        let nest = self.study.network.stages[position].tile(self.outputs(node), &needed);
        let mut failed = None;
        let levels = machine.levels(I1).len().max(machine.levels(O).len());
        let bypasses = (0..machine.levels(I1).len()).flat_map(|bypassed| {
            raises(levels).into_iter().map(move |(inputs_up, output_up)| (inputs_up, output_up, bypassed))
        });
        for (inputs_up, output_up, bypassed) in bypasses {
            let (Some(input), Some(output)) =
                (machine.above(I1, lowest_input, inputs_up), machine.above(O, lowest_output, output_up))
            else {
                continue;
            };
            match self.study.cost(position, nest.clone(), [input, weights, output], bypassed) {
                Ok(cost) => {
                    let copies = self.copies(stage, places, input);
                    let record = self.record(node, Some(stage), (Some(input), output), &copies, Some(cost));
                    return Ok((output, record));
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let source = failed
            .map_or(CostError::NoSpatialMapping { core: machine.kind.name.clone() }, |error| {
                (*error).clone()
            });
        let [columns, rows] = self.outputs(node);
        let layer = self.study.network.stages[position].name.clone();
        Err(PointError { layer, columns, rows, source: Box::new(source) })
    }

    /// A layer that earlier tiles have completed so far that this one has nothing to add.
    fn idle(&self, stage: usize, places: &[usize]) -> (usize, TileLayer) {
        let place = self.study.machine.lowest(O, |_| true);
        let mut copies = Vec::new();
        self.leave_before(stage, places, &mut copies);
        (place, self.record(self.stack.node(stage), Some(stage), (None, place), &copies, None))
    }

    /// Copies before a layer whose inputs lie in `place`.
    fn copies(&self, stage: usize, places: &[usize], place: usize) -> Vec<Copy> {
        let mut copies = Vec::new();
        self.leave_before(stage, places, &mut copies);
        for (at, edge) in self.stack.edges[stage].iter().enumerate() {
            let (bits, lies) = (self.bits(edge.from), places[edge.from]);
            if bits == 0 {
                // Everything needed is found in caches.
            } else if edge.from < self.stack.outside.len() {
                if lies > place {
                    copies.push(Copy { bits, from: (I1, lies), to: (I1, place) });
                }
            } else if lies != place {
                copies.push(Copy { bits, from: (O, lies), to: (I1, place) });
            }
            let (x, y) = (self.tile.x.inputs[stage][at], self.tile.y.inputs[stage][at]);
            let mut find = |memory: Option<usize>, places: u64| {
                if let Some(memory) = memory.filter(|memory| *memory != place && places > 0) {
                    copies.push(Copy { bits: places * edge.bits, from: (I1, memory), to: (I1, place) });
                }
            };
            find(self.tile.finds_columns, x.found * y.span);
            let found = if self.tile.finds_columns.is_some() { x.found } else { 0 };
            find(self.tile.finds_rows, y.found * (x.span - found));
        }
        copies
    }

    /// What the layer before keeps for the next tiles.
    fn leave_before(&self, stage: usize, places: &[usize], copies: &mut Vec<Copy>) {
        if let Some(before) = stage.checked_sub(1) {
            let node = self.stack.node(before);
            self.leave(node, (O, places[node]), copies);
        }
    }

    /// Keeps rows and columns of a map, which lies in `place`, for the next tiles.
    fn leave(&self, node: usize, place: (MemoryOperand, usize), copies: &mut Vec<Copy>) {
        let [columns, rows] = self.outputs(node);
        let at_a_place = self.bits_per_place(node);
        // A tile narrower than what is kept adds what is new.
        let keep = |kept: u64, computed: u64, found: Option<usize>| {
            if found.is_some() { kept.min(computed) } else { kept }
        };
        let kept_columns = keep(self.tile.x.keep[node], columns, self.tile.finds_columns);
        let kept_rows = keep(self.tile.y.keep[node], rows, self.tile.finds_rows);
        let mut written = 0;
        if let Some(memory) = self.tile.leaves_rows.filter(|memory| *memory != place.1 && kept_rows > 0) {
            copies.push(Copy { bits: kept_rows * columns * at_a_place, from: place, to: (place.0, memory) });
            written = kept_rows;
        }
        if let Some(memory) = self.tile.leaves_columns.filter(|memory| *memory != place.1 && kept_columns > 0)
        {
            copies.push(Copy {
                bits: kept_columns * (rows - written) * at_a_place,
                from: place,
                to: (place.0, memory),
            });
        }
    }

    fn record(
        &self,
        node: usize,
        stage: Option<usize>,
        (input, output): (Option<usize>, usize),
        copies: &[Copy],
        cost: Option<Arc<Cost>>,
    ) -> TileLayer {
        let machine = self.study.machine;
        let name = |memory: usize| machine.memory_name(memory).to_owned();
        let Copied { energy, cycles } = copied(machine, copies);
        TileLayer {
            layer: stage.map(|stage| self.study.network.stages[self.stack.stages.start + stage].name.clone()),
            count: self.tile.count,
            outputs: self.outputs(node),
            input_memory: input.map(name),
            output_memory: name(output),
            copies: copies.iter().map(|copy| (copy.bits, name(copy.from.1), name(copy.to.1))).collect(),
            copy_energy_pj: energy,
            copy_cycles: cycles,
            cost,
        }
    }
}

/// How many memories inputs and output go up, in the order of trial.
fn raises(levels: usize) -> Vec<(usize, usize)> {
    let mut raises: Vec<(usize, usize)> =
        (0..levels).flat_map(|inputs| (0..levels).map(move |output| (inputs, output))).collect();
    raises.sort_by_key(|(inputs, output)| (*inputs.max(output), *inputs, *output));
    raises
}

impl Point {
    fn new(tile: TileSize, overlap: Overlap) -> Self {
        Self {
            tile: tile.to_string(),
            overlap,
            stacks: Vec::new(),
            energy_pj: 0.0,
            latency_cycles: 0.0,
            operations: 0,
            compute_energy_pj: 0.0,
            copy_energy_pj: 0.0,
            copy_cycles: 0,
            ideal_cycles: 0.0,
            temporal_cycles: 0.0,
            stall_cycles: 0.0,
            onload_cycles: 0.0,
            offload_cycles: 0.0,
            peak_alive_bits: 0,
            peak_with_columns_bits: None,
            peak_with_rows_bits: None,
            weight_bits: 0,
            column_levels: BTreeSet::new(),
            row_levels: BTreeSet::new(),
            weight_levels: BTreeSet::new(),
            tiles: 0,
            tile_types: 0,
        }
    }

    fn add_stack(&mut self, study: &Study, stack: &Stack, plan: &Plan, overlap: Overlap) {
        let stages = &study.network.stages[stack.stages.clone()];
        let name = |memory: usize| study.machine.memory_name(memory).to_owned();
        self.stacks.push(stages.iter().map(|stage| stage.name.clone()).collect());
        self.weight_bits = self.weight_bits.max(stages.iter().map(|stage| stage.weight_bits()).sum());
        self.peak_alive_bits = self.peak_alive_bits.max(plan.peaks.alive);
        if overlap.keeps_columns() {
            self.peak_with_columns_bits = self.peak_with_columns_bits.max(Some(plan.peaks.with_columns));
        }
        if overlap.keeps_rows() {
            self.peak_with_rows_bits = self.peak_with_rows_bits.max(Some(plan.peaks.with_rows));
        }
        self.column_levels.extend(plan.levels.iter().filter_map(|levels| levels.columns).map(name));
        self.row_levels.extend(plan.levels.iter().filter_map(|levels| levels.rows).map(name));
        if stages.iter().any(|stage| stage.has_weights()) {
            self.weight_levels.insert(name(plan.weights));
        }
        self.tiles += plan.tiles;
        self.tile_types += plan.types.len();
    }

    fn add(&mut self, layer: &TileLayer, rules: Rules) {
        let count = layer.count as f64;
        self.energy_pj += count * layer.copy_energy_pj;
        self.latency_cycles += count * layer.copy_cycles as f64;
        self.copy_energy_pj += count * layer.copy_energy_pj;
        self.copy_cycles += layer.count * layer.copy_cycles;
        let Some(cost) = &layer.cost else {
            return;
        };
        self.energy_pj += count * cost.energy.0;
        self.latency_cycles += count
            * match rules {
                Rules::Reference => cost.temporal.0 + cost.stall.0 + cost.onload.0,
                Rules::Padded => cost.latency.0,
            };
        self.operations += layer.count * cost.operations;
        self.compute_energy_pj += count * cost.operations as f64 * cost.operation_energy.0;
        self.ideal_cycles += count * cost.ideal.0;
        self.temporal_cycles += count * cost.temporal.0;
        self.stall_cycles += count * cost.stall.0;
        self.onload_cycles += count * cost.onload.0;
        self.offload_cycles += count * cost.offload.0;
    }
}
