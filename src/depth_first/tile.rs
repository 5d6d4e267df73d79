//! A tile on its way through a stack: where maps lie, what is copied, what each layer costs.
//!
//! Each layer of a tile reads its maps from the lowest memory that holds all of them and leaves its output
//! in the lowest that holds it (beside the inputs, if they lie there too), the last one in DRAM. Weights come
//! from DRAM for the first tile of a stack, later from where they fit. If no mapping fits, the output
//! goes one memory higher, then the inputs, then both, and so on (MODEL.md 6). If then nothing fits, the
//! lowest memories of maps are bypassed: two maps to be added may be too much for one of 1 KiB.

use super::Rules;
use super::copies::{Copied, Copy, copied};
use super::levels::{Plan, TileType};
use super::stacks::{Kept, Stack};
use super::study::{PointError, Study};
use crate::cost::{Cost, CostError};
use crate::workload::MemoryOperand;
use crate::workload::MemoryOperand::{I1, O};
use serde::Serialize;
use std::sync::Arc;

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

/// A tile on its way through the stack.
pub(super) struct Running<'a> {
    pub study: &'a Study<'a>,
    pub stack: &'a Stack,
    pub plan: &'a Plan,
    pub tile: &'a TileType,
}

impl Running<'_> {
    /// Elements along both axes that the tile computes or loads of a map.
    fn outputs(&self, node: usize) -> [u64; 2] {
        [self.tile.x.outputs[node], self.tile.y.outputs[node]]
    }

    /// Elements along both axes that a layer needs of an input.
    fn span(&self, stage: usize, at: usize) -> [u64; 2] {
        [self.tile.x.inputs[stage][at].span, self.tile.y.inputs[stage][at].span]
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
    pub fn load(&self, node: usize) -> (usize, TileLayer) {
        let machine = self.study.machine;
        if let (Some(kept), Some((memory, _))) = (self.stack.kept.input, self.stack.kept.taken)
            && kept == node
        {
            return (memory, self.record(node, None, (None, memory), &[], None));
        }
        let bits = self.bits(node);
        let place = machine.lowest(I1, |memory| self.stack.room(machine, memory) >= bits);
        let loads =
            (place != machine.dram()).then_some(Copy { bits, from: (I1, machine.dram()), to: (I1, place) });
        let mut copies: Vec<Copy> = loads.into_iter().collect();
        if self.study.rules == Rules::Padded {
            self.leave(node, (I1, place), &mut copies);
        }
        (place, self.record(node, None, (None, place), &copies, None))
    }

    /// Runs a layer: finds its memories, its cost, and the copies before it.
    pub fn layer(&self, stage: usize, places: &[usize]) -> Result<(usize, TileLayer), PointError> {
        let machine = self.study.machine;
        let node = self.stack.node(stage);
        if self.outputs(node).contains(&0) {
            return Ok(self.idle(stage, places));
        }
        let output = self.bits(node);
        let last = stage + 1 == self.stack.edges.len();
        let keeps = |memory: usize| self.stack.kept.taken.is_some_and(|(taken, _)| taken == memory);
        // What a memory needs for the inputs, or for the output: maps that stay there are there already.
        let input = |memory: usize| -> u64 {
            let edges = self.stack.edges[stage].iter().enumerate();
            let loaded =
                edges.filter(|(_, edge)| !(keeps(memory) && self.stack.kept.input == Some(edge.from)));
            loaded.map(|(at, edge)| self.span(stage, at).iter().product::<u64>() * edge.bits).sum()
        };
        let lowest_input = machine.lowest(I1, |memory| self.stack.room(machine, memory) >= input(memory));
        let lowest_output = match (last, self.stack.kept) {
            (true, Kept { output: true, taken: Some((memory, _)), .. }) => memory,
            (true, _) => machine.dram(),
            (false, _) => machine.lowest(O, |memory| {
                let beside = if memory == lowest_input { input(memory) } else { 0 };
                self.stack.room(machine, memory) >= output + beside
            }),
        };
        let taken = self.taken(stage, if last && self.stack.kept.output { output } else { 0 });
        let weights = if self.tile.first { machine.dram() } else { self.plan.weights };
        let needed: Vec<[u64; 2]> =
            (0..self.stack.edges[stage].len()).map(|at| self.span(stage, at)).collect();
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
            match self.study.cost(position, nest.clone(), [input, weights, output], bypassed, taken) {
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

    /// What kept maps leave no room for in the search, which sees their tiles, `there` of the output, as bits of their
    /// own; in eighths of the memory, rounded up, so that many tiles share a cost.
    fn taken(&self, stage: usize, there: u64) -> Option<(usize, u64)> {
        let (memory, bits) = self.stack.kept.taken?;
        let edges = self.stack.edges[stage].iter().enumerate();
        let kept = edges.filter(|(_, edge)| self.stack.kept.input == Some(edge.from));
        let here: u64 = kept.map(|(at, edge)| self.span(stage, at).iter().product::<u64>() * edge.bits).sum();
        let capacity = self.study.machine.capacity(memory);
        let step = capacity.div_ceil(8);
        Some((memory, (bits.saturating_sub(here + there).div_ceil(step) * step).min(capacity)))
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
            if self.stack.kept.input == Some(edge.from) {
                if places[edge.from] > place {
                    let bits = self.span(stage, at).iter().product::<u64>() * edge.bits;
                    copies.push(Copy { bits, from: (I1, places[edge.from]), to: (I1, place) });
                }
                continue;
            }
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
