//! Where caches and weights lie, and which tiles are alike (MODEL.md 4 and 6).
//!
//! By tile size, first column or not, first row or not, caches get the lowest memory of maps that holds
//! what is alive at once together with them, weights the lowest that holds all of the stack's. A tile
//! leaves columns where the tile to the right looks for them; rows lie where the last kind of tile, in the
//! middle of the map, wants them. (MODEL.md 6.5 takes the highest memory that any tile wants; the
//! recorded copies of FSRCNN in tiles of 960x4, whose first row alone would need DRAM, contradict it.)

use super::bands::{bands, whole};
use super::geometry::Extents;
use super::network::Network;
use super::stacks::Stack;
use super::{Machine, Overlap, Rules};
use crate::workload::MemoryOperand::{I1, I2, O};

/// Most bits alive at once while a stack runs one tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Peaks {
    pub alive: u64,
    /// With the columns kept.
    pub with_columns: u64,
    /// With the columns and rows kept.
    pub with_rows: u64,
}

/// Memories of one kind of tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub columns: Option<usize>,
    pub rows: Option<usize>,
    pub weights: usize,
}

/// Tiles that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TileType {
    /// Maps along both axes.
    pub x: Extents,
    pub y: Extents,
    /// Weights come from DRAM.
    pub first: bool,
    /// Memory in which columns are left for the tile to the right.
    pub leaves_columns: Option<usize>,
    /// Memory in which the tile to the left has left columns.
    pub finds_columns: Option<usize>,
    pub leaves_rows: Option<usize>,
    pub finds_rows: Option<usize>,
    /// Tiles of this type.
    pub count: u64,
}

/// Everything that holds for all tiles of a stack.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub types: Vec<TileType>,
    /// Tiles.
    pub tiles: u64,
    pub peaks: Peaks,
    /// All levels chosen.
    pub levels: Vec<Levels>,
    /// Memory of the weights behind the first tile.
    pub weights: usize,
}

/// A stack's tiles of this size.
pub(super) fn plan(
    network: &Network,
    machine: &Machine,
    stack: &Stack,
    tile: [u64; 2],
    overlap: Overlap,
    rules: Rules,
) -> Plan {
    let columns = bands(stack, 0, tile[0], overlap.keeps_columns(), rules);
    let rows = bands(stack, 1, tile[1], overlap.keeps_rows(), rules);
    let widest = whole(stack, 0, rules);
    let mut plan = Plan::default();
    let mut decided = Vec::new();
    for row in &rows {
        for column in &columns {
            let (x, y) = (&column.extents, &row.extents);
            let tile = TileSizes { network, machine, stack, x, y, widest: &widest };
            let (peaks, levels) = tile.decide(overlap, column.first, columns.len() > 1);
            plan.peaks.alive = plan.peaks.alive.max(peaks.alive);
            plan.peaks.with_columns = plan.peaks.with_columns.max(peaks.with_columns);
            plan.peaks.with_rows = plan.peaks.with_rows.max(peaks.with_rows);
            decided.push(levels);
        }
    }
    let at = |row: usize, column: usize| decided[row * columns.len() + column];
    let rows_lie = match rules {
        Rules::Reference => decided.last().and_then(|levels| levels.rows),
        Rules::Padded => decided.iter().filter_map(|levels| levels.rows).max(),
    };
    for (j, row) in rows.iter().enumerate() {
        for (i, column) in columns.iter().enumerate() {
            let tile = TileType {
                x: column.extents.clone(),
                y: row.extents.clone(),
                first: column.first && row.first,
                leaves_columns: if column.last { None } else { at(j, column.next).columns },
                finds_columns: at(j, i).columns.filter(|_| !column.first),
                leaves_rows: rows_lie.filter(|_| !row.last),
                finds_rows: rows_lie.filter(|_| !row.first),
                count: column.count * row.count,
            };
            plan.tiles += tile.count;
            match plan.types.iter_mut().find(|other| other.is_like(&tile)) {
                Some(known) => known.count += tile.count,
                None => plan.types.push(tile),
            }
        }
    }
    plan.weights = decided.iter().map(|levels| levels.weights).max().unwrap_or(machine.dram());
    plan.levels = decided;
    plan
}

impl TileType {
    /// All but the count.
    fn is_like(&self, other: &Self) -> bool {
        let levels = |tile: &Self| {
            [
                tile.leaves_columns,
                tile.finds_columns,
                tile.leaves_rows,
                tile.finds_rows,
                Some(usize::from(tile.first)),
            ]
        };
        levels(self) == levels(other) && self.x == other.x && self.y == other.y
    }
}

struct TileSizes<'a> {
    network: &'a Network,
    machine: &'a Machine,
    stack: &'a Stack,
    x: &'a Extents,
    y: &'a Extents,
    /// Along x over the whole map.
    widest: &'a Extents,
}

impl TileSizes<'_> {
    /// `columns`: there are several.
    fn decide(&self, overlap: Overlap, first_column: bool, columns: bool) -> (Peaks, Levels) {
        let machine = self.machine;
        let alive = self.alive();
        let mut peaks = Peaks { alive: alive.iter().copied().max().unwrap_or(0), ..Peaks::default() };
        let kept = self.kept_columns();
        peaks.with_columns = match (overlap.keeps_columns(), first_column) {
            (true, false) => peaks.alive + kept.iter().sum::<u64>(),
            (true, true) if columns => self.with_growing_columns(&alive, &kept),
            _ => peaks.alive,
        };
        let shared = |memory: usize| machine.memory(memory).operands.contains(&I1);
        let map = |bits: u64| {
            machine.lowest(O, |memory| shared(memory) && self.stack.room(machine, memory) >= bits)
        };
        let in_columns = map(peaks.with_columns);
        peaks.with_rows = peaks.with_columns;
        let mut levels = Levels { columns: None, rows: None, weights: machine.dram() };
        levels.columns = overlap.keeps_columns().then_some(in_columns);
        if overlap.keeps_rows() {
            peaks.with_rows += self.kept_rows();
            // Columns and rows in one memory share their corners.
            let corner =
                |memory: usize| if memory == in_columns && !first_column { self.corners() } else { 0 };
            let fits = |memory: usize| self.stack.room(machine, memory) + corner(memory) >= peaks.with_rows;
            levels.rows = Some(machine.lowest(O, |memory| shared(memory) && fits(memory)));
        }
        levels.weights = self.weights(&peaks, &levels, map(peaks.alive));
        (peaks, levels)
    }

    fn weights(&self, peaks: &Peaks, levels: &Levels, maps: usize) -> usize {
        let stages = &self.network.stages[self.stack.stages.clone()];
        let weights: u64 = stages.iter().map(|stage| stage.weight_bits()).sum();
        let beside = |memory: usize| match (levels.rows, levels.columns) {
            (Some(rows), _) if rows == memory => peaks.with_rows,
            (_, Some(columns)) if columns == memory => peaks.with_columns,
            _ if maps == memory => peaks.alive,
            _ => 0,
        };
        let fits = |memory: &usize| self.stack.room(self.machine, *memory) >= weights + beside(*memory);
        self.machine.levels(I2).iter().copied().find(fits).unwrap_or(self.machine.dram())
    }

    /// Bits of maps alive while each layer runs: what it reads and writes, and what waits for other readers.
    fn alive(&self) -> Vec<u64> {
        let stack = self.stack;
        let output = |stage: usize| {
            let node = stack.node(stage);
            self.x.outputs[node]
                * self.y.outputs[node]
                * self.network.stages[stack.stages.start + stage].bits_per_place(0)
        };
        (0..stack.edges.len())
            .map(|stage| {
                let reads = |node: usize| stack.edges[stage].iter().any(|edge| edge.from == node);
                let input: u64 = (stack.edges[stage].iter().enumerate())
                    .map(|(at, edge)| {
                        self.x.inputs[stage][at].span * self.y.inputs[stage][at].span * edge.bits
                    })
                    .sum();
                let later = |other: usize| stack.readers(stack.node(other)).any(|(reader, _)| reader > stage);
                let waiting = (0..stage).filter(|other| !reads(stack.node(*other)) && later(*other));
                input + output(stage) + waiting.map(output).sum::<u64>()
            })
            .collect()
    }

    /// Bits of the columns that each layer's inputs share with the next tile.
    fn kept_columns(&self) -> Vec<u64> {
        self.per_layer(|stage, at| self.x.inputs[stage][at].left * self.y.inputs[stage][at].span)
    }

    /// Bits of the rows, over the whole width.
    fn kept_rows(&self) -> u64 {
        let rows =
            self.per_layer(|stage, at| self.y.inputs[stage][at].left * self.widest.inputs[stage][at].span);
        rows.iter().sum()
    }

    fn corners(&self) -> u64 {
        let corners =
            self.per_layer(|stage, at| self.x.inputs[stage][at].left * self.y.inputs[stage][at].left);
        corners.iter().sum()
    }

    fn per_layer(&self, places: impl Fn(usize, usize) -> u64) -> Vec<u64> {
        (self.stack.edges.iter().enumerate())
            .map(|(stage, edges)| {
                edges.iter().enumerate().map(|(at, edge)| places(stage, at) * edge.bits).sum()
            })
            .collect()
    }

    /// In the first column columns add up as layers complete: what a layer's inputs leave counts from two
    /// layers later on, maps from outside never.
    fn with_growing_columns(&self, alive: &[u64], kept: &[u64]) -> u64 {
        let inside = |stage: usize| {
            let edges = self.stack.edges[stage].iter().enumerate();
            let outside = edges.filter(|(_, edge)| edge.from < self.stack.outside.len());
            let outside = outside
                .map(|(at, edge)| self.x.inputs[stage][at].left * self.y.inputs[stage][at].span * edge.bits);
            kept[stage] - outside.sum::<u64>()
        };
        let (mut grown, mut peak) = (0, 0);
        for (stage, alive) in alive.iter().enumerate() {
            grown += stage.checked_sub(2).map_or(0, inside);
            peak = peak.max(alive + grown);
        }
        peak
    }
}
