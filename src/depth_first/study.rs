//! One point of a study: all tiles of all stacks, costed.

use super::levels::{Plan, TileType, plan};
use super::network::{Network, Source};
use super::stacks::{Keep, Maps, Stack, ranges};
use super::tile::{Running, TileLayer};
use super::{Machine, Overlap, Rules, TileSize};
use crate::cost::{CostError, CostTable, MappingConstraint, SearchOptions, SharedCost, search};
use crate::workload::nest::LoopNest;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// What is studied.
pub struct Study<'a> {
    pub(super) network: &'a Network,
    pub(super) machine: &'a Machine,
    /// Search over mappings of each layer of a tile.
    search: &'a SearchOptions,
    /// Costs of tiles.
    table: &'a CostTable<TileKey>,
    pub(super) rules: Rules,
    /// Extents of all whole maps.
    maps: Maps,
}

/// What the cost of a layer of a tile depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileKey {
    nest: LoopNest,
    constraint: MappingConstraint,
    /// The second input is a map.
    second_map: bool,
    /// Memories up to which I1, I2 and O may go.
    tops: [usize; 3],
    /// Lowest memories of I1 that it does without.
    bypassed: usize,
    /// Bits of a memory that are not free.
    taken: Option<(usize, u64)>,
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
    /// The first input comes from memory on chip.
    pub input_on_chip: bool,
    /// The last map stays on chip.
    pub output_on_chip: bool,
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
            let stack = Stack::new(self.network, &self.maps, stages);
            self.add_stack(&mut point, &stack, tile, overlap)?;
        }
        Ok(point)
    }

    /// Evaluates a tile size in a mode for one stack alone, with maps that stay on chip in front of it or behind it;
    /// none where they cannot.
    ///
    /// # Errors
    /// As [`Self::point`].
    pub fn stack_point(
        &self,
        stages: Range<usize>,
        tile: TileSize,
        overlap: Overlap,
        keep: Keep,
    ) -> Result<Option<Point>, PointError> {
        let mut stack = Stack::new(self.network, &self.maps, stages);
        if !stack.keep(self.network, self.machine, keep) {
            return Ok(None);
        }
        let mut point = Point::new(tile, overlap);
        self.add_stack(&mut point, &stack, tile, overlap)?;
        Ok(Some(point))
    }

    /// Extents of a layer's whole map.
    pub(super) fn map(&self, stage: usize) -> [u64; 2] {
        self.maps.of(Source::Stage(stage))
    }

    /// Whether maps may stay on chip between stacks.
    pub(super) fn may_keep(&self) -> bool {
        self.rules == Rules::Padded
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
            let stack = Stack::new(self.network, &self.maps, stages);
            all.extend(self.stack(&stack, tile, overlap)?.1);
        }
        Ok(all)
    }

    fn add_stack(
        &self,
        point: &mut Point,
        stack: &Stack,
        tile: TileSize,
        overlap: Overlap,
    ) -> Result<(), PointError> {
        let (plan, layers) = self.stack(stack, tile, overlap)?;
        point.add_stack(self, stack, &plan, overlap);
        layers.iter().for_each(|layer| point.add(layer, self.rules));
        Ok(())
    }

    fn stack(
        &self,
        stack: &Stack,
        tile: TileSize,
        overlap: Overlap,
    ) -> Result<(Plan, Vec<TileLayer>), PointError> {
        let tile = tile.within(stack.extents[stack.nodes() - 1]);
        let plan = plan(self.network, self.machine, stack, tile, overlap, self.rules);
        let mut layers = Vec::new();
        for tile in &plan.types {
            self.tile(stack, &plan, tile, &mut layers)?;
        }
        Ok((plan, layers))
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

    pub(super) fn cost(
        &self,
        stage: usize,
        nest: LoopNest,
        tops: [usize; 3],
        bypassed: usize,
        taken: Option<(usize, u64)>,
    ) -> SharedCost {
        let description = &self.network.stages[stage];
        let (constraint, second_map) = (description.constraint.clone(), description.has_second_map());
        // Below the kept maps their room does not matter.
        let taken = taken.filter(|(memory, bits)| *bits > 0 && (tops[0] >= *memory || tops[2] >= *memory));
        let key = TileKey { nest, constraint, second_map, tops, bypassed, taken };
        self.table.get(&key, || {
            let hierarchy = self.machine.up_to(tops, second_map, bypassed, taken);
            search(&key.nest, &hierarchy, &self.machine.kind.name, &key.constraint, self.search)
        })
    }
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
            input_on_chip: false,
            output_on_chip: false,
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
        self.input_on_chip |= stack.kept.input.is_some();
        self.output_on_chip |= stack.kept.output;
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
