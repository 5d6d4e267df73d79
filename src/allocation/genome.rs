//! Genomes: the Candidate space as genes, shared by every policy that searches by simulation.
//!
//! ```text
//! genome = (where stacks begin, rows per CN of each stack, a LayerChoice per layer)
//! ```
//! What the mapping or an option fixes is no gene. [`Genes`] knows the alphabet and translates a
//! genome into a [`Candidate`], which cannot fail: cuts are made once, when the alphabet is.

use super::Candidate;
use super::space::{Space, SpaceError, layer_cuts};
use crate::fusion::stacks::from_names;
use crate::fusion::{Cut, Stack};
use crate::ids::LayerId;
use crate::mapping::Mapping;
use crate::pipeline::Problem;
use crate::workload::{Layer, Workload};
use std::collections::BTreeMap;

/// One point of the space.
///
/// Invariant: the first layer begins a stack; layers of a stack have the same rows gene, which is not
/// 0 where there are several; of genes that cut a layer alone in the same way it has the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Genome {
    /// Whether a stack begins at each layer.
    pub begins: Vec<bool>,
    /// Per layer: 0 runs it whole, `g` cuts it in [`Genes::rows`]`[g - 1]` rows; beyond these genes a layer
    /// alone is cut in pieces of its output channels.
    pub rows: Vec<u8>,
    /// Position in [`Space::layers`] per layer.
    pub choices: Vec<u32>,
}

/// The alphabet.
pub struct Genes<'a> {
    /// Choices of every layer.
    pub space: &'a Space,
    /// Rows per CN to choose from, ascending; empty if layers run whole.
    pub rows: Vec<u64>,
    /// Whether stacks may be cut and joined.
    pub stacks: bool,
    /// Cuts in time of each layer, per rows gene.
    cuts: Vec<Vec<Vec<Cut>>>,
}

impl<'a> Genes<'a> {
    /// The alphabet of a problem: rows per CN where the mapping leaves them open (none: layer by
    /// layer), stacks to be chosen or not.
    pub fn new(problem: &'a Problem, rows: &[u64], stacks: bool) -> Result<Self, SpaceError> {
        let (workload, mapping) = (&problem.workload, &problem.mapping);
        if rows.is_empty() {
            let cuts = vec![vec![Vec::new(); workload.layers.len()]];
            return Ok(Self { space: &problem.space, rows: Vec::new(), stacks: false, cuts });
        }
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let mut cuts = vec![layer_cuts(workload, mapping, None)?];
        let mut different = Vec::new();
        for rows in rows {
            let finer = layer_cuts(workload, mapping, Some(rows))?;
            // Stacks need one gene, even if it cuts nothing.
            if different.is_empty() || !cuts.contains(&finer) {
                cuts.push(finer);
                different.push(rows);
            }
        }
        for pieces in CHANNEL_PIECES {
            cuts.push(channel_cuts(workload, mapping, pieces, &cuts[0]));
        }
        Ok(Self { space: &problem.space, rows: different, stacks, cuts })
    }

    /// The genome of stacks with one rows gene for all of several layers; layers alone run whole.
    pub fn genome(&self, stacks: &[Stack], rows: u8, choices: &[u32]) -> Genome {
        let mut genome = Genome {
            begins: vec![false; choices.len()],
            rows: vec![0; choices.len()],
            choices: choices.to_vec(),
        };
        for stack in stacks {
            if let Some(first) = stack.layers.first() {
                genome.begins[first.index()] = true;
            }
            if stack.layers.len() > 1 {
                stack.layers.iter().for_each(|layer| genome.rows[layer.index()] = rows);
            }
        }
        self.canonical(genome)
    }

    /// Restores the invariant: a stack's rows are those of its first layer that has any.
    pub fn canonical(&self, mut genome: Genome) -> Genome {
        if let Some(first) = genome.begins.first_mut() {
            *first = true;
        }
        for stack in ranges(&genome.begins) {
            let rows = match stack.len() {
                1 => self.coarsest(stack.start, genome.rows[stack.start]),
                _ => {
                    let known = |rows: &u8| (1..=self.rows.len()).contains(&(*rows as usize));
                    let given = genome.rows[stack.clone()].iter().copied().find(known);
                    given.unwrap_or(self.rows.len().min(1) as u8)
                }
            };
            genome.rows[stack].fill(rows);
        }
        genome
    }

    /// The first gene that cuts a layer as `rows` does.
    fn coarsest(&self, layer: usize, rows: u8) -> u8 {
        let cut = &self.cuts[rows as usize][layer];
        let same = (self.cuts[..rows as usize].iter()).position(|cuts| cuts[layer] == *cut);
        same.map_or(rows, |gene| gene as u8)
    }

    /// Stacks of a genome.
    pub fn stacks(&self, genome: &Genome) -> Vec<Stack> {
        let layers = |range: std::ops::Range<usize>| Stack { layers: range.map(LayerId::from).collect() };
        ranges(&genome.begins).map(layers).collect()
    }

    /// Cuts in time of a genome.
    pub fn intra(&self, genome: &Genome) -> Vec<Vec<Cut>> {
        let cut = |(layer, rows): (usize, &u8)| self.cuts[*rows as usize][layer].clone();
        genome.rows.iter().enumerate().map(cut).collect()
    }

    /// What a genome means.
    pub fn candidate(&self, genome: &Genome) -> Candidate {
        self.space.candidate(&self.stacks(genome), &self.intra(genome), &genome.choices)
    }

    /// Number of rows genes: of a layer alone.
    pub fn tilings(&self) -> usize {
        self.cuts.len()
    }

    /// Number of genomes, as a float because it is astronomic for real networks.
    pub fn count(&self) -> f64 {
        self.space.layers.iter().map(|choices| choices.len() as f64).product()
    }
}

/// Pieces of output channels in which a layer alone may be cut in time: slices of weights that are loaded
/// while others compute.
const CHANNEL_PIECES: [u64; 3] = [4, 8, 16];

/// Cuts in time of every layer: so many pieces of its output channels, else those of the whole layer.
fn channel_cuts(workload: &Workload, mapping: &Mapping, pieces: u64, whole: &[Vec<Cut>]) -> Vec<Vec<Cut>> {
    let cuts = |(layer, whole): (&Layer, &Vec<Cut>)| {
        let given = mapping.entry(layer).is_some_and(|entry| entry.intra_core_tiling.is_some());
        match channel_cut(layer, pieces).filter(|_| !given) {
            Some(cut) => vec![cut],
            None => whole.clone(),
        }
    };
    workload.layers.iter().zip(whole).map(cuts).collect()
}

fn channel_cut(layer: &Layer, pieces: u64) -> Option<Cut> {
    let dim = layer.channel_dim().filter(|dim| layer.dims[*dim].size >= pieces)?;
    Some(Cut::into_pieces(dim, layer.dims[dim].size, pieces))
}

/// All cuts of a layer alone in pieces of its output channels.
pub fn channel_cuts_of(layer: &Layer) -> impl Iterator<Item = Cut> + '_ {
    CHANNEL_PIECES.into_iter().filter_map(|pieces| channel_cut(layer, pieces))
}

/// The stacks as ranges of layers.
pub(super) fn ranges(begins: &[bool]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let starts = (0..begins.len()).filter(|layer| *layer == 0 || begins[*layer]);
    starts.map(|start| {
        let end = (start + 1..begins.len()).find(|layer| begins[*layer]).unwrap_or(begins.len());
        start..end
    })
}

/// For every layer, the choice that means the same as a choice of another layer: the same cores, split
/// in the same dimension.
pub(super) struct Analogues {
    /// Per layer, meaning to choice.
    of: Vec<BTreeMap<Meaning, u32>>,
    /// Per layer and choice.
    meanings: Vec<Vec<Meaning>>,
}

/// What a choice means whatever the layer's sizes: dimensions split, and cores.
type Meaning = (Vec<String>, Vec<crate::ids::CoreId>);

impl Analogues {
    pub fn new(problem: &Problem) -> Self {
        let meanings: Vec<Vec<Meaning>> = (problem.workload.layers.iter().zip(&problem.space.layers))
            .map(|(layer, choices)| {
                let rows = |name: String| if name == "OY" || name == "D" { "rows".to_owned() } else { name };
                let meaning = |choice: &super::space::LayerChoice| {
                    let dims = choice.inter.iter().map(|cut| rows(layer.dims[cut.dim].dim.to_string()));
                    (dims.collect(), choice.cores.clone())
                };
                choices.iter().map(meaning).collect()
            })
            .collect();
        let of = (meanings.iter()).map(|choices| choices.iter().cloned().zip(0..).collect()).collect();
        Self { of, meanings }
    }

    /// The choice of `to` that means what `choice` means for `from`.
    pub fn find(&self, from: usize, choice: u32, to: usize) -> Option<u32> {
        self.of[to].get(&self.meanings[from][choice as usize]).copied()
    }

    /// The choice of `layer` with two cores exchanged.
    pub fn exchanged(&self, layer: usize, choice: u32, pair: [crate::ids::CoreId; 2]) -> Option<u32> {
        let (dims, cores) = &self.meanings[layer][choice as usize];
        let swap = |core: &crate::ids::CoreId| match *core {
            core if core == pair[0] => pair[1],
            core if core == pair[1] => pair[0],
            core => core,
        };
        let mut cores: Vec<_> = cores.iter().map(swap).collect();
        let exact = self.of[layer].get(&(dims.clone(), cores.clone()));
        exact
            .or_else(|| {
                // Splits name their cores in ascending order.
                cores.sort_unstable();
                self.of[layer].get(&(dims.clone(), cores))
            })
            .copied()
    }
}

/// Stacks a mapping gives, if it gives any.
pub fn given_stacks(problem: &Problem) -> Result<Option<Vec<Stack>>, String> {
    match problem.mapping.stacks.is_empty() {
        true => Ok(None),
        false => from_names(&problem.workload, &problem.mapping.stacks).map(Some),
    }
}
