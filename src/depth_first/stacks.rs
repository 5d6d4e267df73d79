//! Which layers are fused: stacks of consecutive layers.

use super::geometry::Extents;
use super::network::{Input, Network, Reach, Source};
use super::{Machine, Rules};
use std::collections::BTreeMap;
use std::ops::Range;

/// How a network is cut into stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Where the weights of a stack would exceed the largest weight memory on chip.
    Weights,
    /// Nowhere.
    All,
    /// After every layer.
    None,
}

/// Layers that run tile by tile, with the maps they read from outside.
///
/// Nodes are numbered: maps from outside first, then the layers.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    /// Layers, as positions in the network.
    pub stages: Range<usize>,
    pub outside: Vec<Outside>,
    /// Per layer the maps it reads.
    pub edges: Vec<Vec<Edge>>,
    /// Per node the extents of the whole map.
    pub extents: Vec<[u64; 2]>,
    /// Maps that stay on chip between stacks.
    pub kept: Kept,
}

/// Which maps of a stack stay on chip as a whole, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The node that the stack before has left.
    pub input: Option<usize>,
    /// The last map is left for the next stack.
    pub output: bool,
    /// The memory, and the bits of both together.
    pub taken: Option<(usize, u64)>,
}

/// Which maps of a stack are to stay on chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keep {
    /// The output of the layer before the stack, if all its readers are in the stack.
    pub input: bool,
    /// The stack's own last map.
    pub output: bool,
}

/// A map from outside.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub source: Source,
    /// Least bits at one place that any reader needs (MODEL.md 5).
    pub bits: u64,
}

/// A layer reads a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Node of the map.
    pub from: usize,
    /// Per axis.
    pub reach: [Reach; 2],
    /// Per axis the place of the first output's first tap.
    pub offset: [i64; 2],
    /// Bits at one place that the reader needs.
    pub bits: u64,
}

impl Stack {
    /// With the extents of all whole maps of the network.
    pub fn new(network: &Network, maps: &Maps, stages: Range<usize>) -> Self {
        let mut bits: BTreeMap<Source, u64> = BTreeMap::new();
        let is_outside = |input: &Input| !matches!(input.from, Source::Stage(from) if stages.contains(&from));
        for stage in &network.stages[stages.clone()] {
            for input in stage.inputs.iter().filter(|input| is_outside(input)) {
                let here = stage.input_bits_per_place(input);
                bits.entry(input.from).and_modify(|least| *least = here.min(*least)).or_insert(here);
            }
        }
        let outside: Vec<Outside> = bits.into_iter().map(|(source, bits)| Outside { source, bits }).collect();
        let node = |source: Source| match source {
            Source::Stage(from) if stages.contains(&from) => outside.len() + from - stages.start,
            source => outside.iter().position(|one| one.source == source).expect("it was collected above"),
        };
        let edges = (network.stages[stages.clone()].iter())
            .map(|stage| {
                let edge = |input: &Input| {
                    let whole = |axis: usize| maps.of(input.from)[axis];
                    Edge {
                        from: node(input.from),
                        reach: [0, 1].map(|axis| stage.reach(input, axis, whole(axis))),
                        offset: input.offset,
                        bits: stage.input_bits_per_place(input),
                    }
                };
                stage.inputs.iter().map(edge).collect()
            })
            .collect();
        let inside = stages.clone().map(Source::Stage);
        let nodes = outside.iter().map(|one| one.source).chain(inside);
        let extents = nodes.map(|source| maps.of(source)).collect();
        Self { stages, outside, edges, extents, kept: Kept::default() }
    }

    /// Keeps maps on chip; false where they are not the stack's, or no memory holds them.
    pub fn keep(&mut self, network: &Network, machine: &Machine, keep: Keep) -> bool {
        let bits = |node: usize, at_a_place: u64| self.extents[node].iter().product::<u64>() * at_a_place;
        let mut taken = 0;
        let mut kept = Kept { output: keep.output, ..Kept::default() };
        if keep.input {
            let before = self.stages.start.checked_sub(1).map(Source::Stage);
            let node = self.outside.iter().position(|one| Some(one.source) == before);
            let Some(node) = node.filter(|_| self.reads_all_of(network)) else {
                return false;
            };
            let Source::Stage(before) = self.outside[node].source else {
                return false;
            };
            taken += bits(node, network.stages[before].bits_per_place(0));
            kept.input = Some(node);
        }
        if keep.output {
            taken += bits(self.nodes() - 1, network.stages[self.stages.end - 1].bits_per_place(0));
        }
        if taken > 0 {
            let Some(memory) = machine.keeper().filter(|memory| machine.capacity(*memory) >= taken) else {
                return false;
            };
            kept.taken = Some((memory, taken));
        }
        self.kept = kept;
        true
    }

    /// Whether nothing behind the stack reads the layer before it.
    fn reads_all_of(&self, network: &Network) -> bool {
        let before = Source::Stage(self.stages.start - 1);
        let behind = network.stages[self.stages.end..].iter().flat_map(|stage| &stage.inputs);
        behind.into_iter().all(|input| input.from != before)
    }

    /// Bits of a memory that are free.
    pub fn room(&self, machine: &Machine, memory: usize) -> u64 {
        let taken = self.kept.taken.filter(|(taken, _)| *taken == memory).map_or(0, |(_, bits)| bits);
        machine.capacity(memory) - taken
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.outside.len() + self.edges.len()
    }

    /// The node of a layer, counted within the stack.
    pub fn node(&self, stage: usize) -> usize {
        self.outside.len() + stage
    }

    /// Readers of a node within the stack: layer and position among what it reads.
    pub fn readers(&self, node: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.edges.iter().enumerate().flat_map(move |(stage, edges)| {
            edges
                .iter()
                .enumerate()
                .filter(move |(_, edge)| edge.from == node)
                .map(move |(at, _)| (stage, at))
        })
    }
}

/// Extents of all whole maps.
#[derive(Clone, Debug)]
pub(super) struct Maps {
    stages: Vec<[u64; 2]>,
    outside: Vec<[u64; 2]>,
}

impl Maps {
    /// The network's own, or as the last map requires without padding (MODEL.md 1).
    pub fn new(network: &Network, rules: Rules) -> Self {
        let stages = network.stages.iter().map(|stage| [0, 1].map(|axis| stage.extent(axis))).collect();
        let own = Self { stages, outside: network.outside.clone() };
        if rules == Rules::Padded {
            return own;
        }
        let all = Stack::new(network, &own, 0..network.stages.len());
        let axes =
            [0, 1].map(|axis| Extents::new(&all, axis, all.extents[all.nodes() - 1][axis], false).outputs);
        let of = |node: usize| [axes[0][node], axes[1][node]];
        let mut outside = own.outside;
        for (node, one) in all.outside.iter().enumerate() {
            if let Source::Outside(at) = one.source {
                outside[at] = of(node);
            }
        }
        Self { stages: (0..network.stages.len()).map(|stage| of(all.node(stage))).collect(), outside }
    }

    /// Extents of a map.
    pub fn of(&self, source: Source) -> [u64; 2] {
        match source {
            Source::Stage(at) => self.stages[at],
            Source::Outside(at) => self.outside[at],
        }
    }
}

/// The last layers of all stacks but the last.
pub fn cuts(network: &Network, machine: &Machine, cuts: Cuts) -> Vec<usize> {
    let last = network.stages.len() - 1;
    match cuts {
        Cuts::All => Vec::new(),
        Cuts::None => (0..last).collect(),
        Cuts::Weights => {
            by_weights(network, machine.weight_room()).into_iter().filter(|cut| *cut < last).collect()
        }
    }
}

/// MODEL.md 5: units of layers between places where one map is alive, filled greedily.
fn by_weights(network: &Network, room: u64) -> Vec<usize> {
    let stages = &network.stages;
    let readers = |at: usize| {
        let inputs = stages.iter().flat_map(|stage| &stage.inputs);
        inputs.filter(|input| input.from == Source::Stage(at)).count()
    };
    let (mut cuts, mut filled, mut start, mut branches) = (Vec::new(), 0, 0, 1_i64);
    for at in 0..stages.len() {
        branches -= stages[at].inputs.len() as i64 - 1;
        if branches == 1 {
            let weights: u64 = stages[start..=at].iter().map(|stage| stage.weight_bits()).sum();
            let before = start.checked_sub(1);
            if weights > room {
                cuts.extend(before);
                cuts.extend(start..=at);
                filled = 0;
            } else if filled + weights > room {
                cuts.extend(before);
                filled = weights;
            } else {
                filled += weights;
            }
            start = at + 1;
        }
        branches += readers(at) as i64 - 1;
    }
    cuts.dedup();
    cuts
}

/// Ranges of layers between cuts.
pub fn ranges(cuts: &[usize], stages: usize) -> Vec<Range<usize>> {
    let ends: Vec<usize> = cuts.iter().map(|cut| cut + 1).chain([stages]).collect();
    let starts = [0].into_iter().chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| start..*end).collect()
}
