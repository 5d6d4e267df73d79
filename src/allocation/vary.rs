//! Moves and crossover that respect what a genome means.
//!
//! ```text
//! move   a run of layers to the cores and kind of split that one of them gets
//! assign one layer to any choice
//! swap   two cores within a run of layers
//! rows   coarser or finer tiles in one stack, or the layer whole
//! cut    a stack in two, or join it with the next
//! cross  genes of a run of layers from the other parent (stacks and rows come with the layers)
//! ```
//! Runs matter because neighbours want the same cores and the same split: a single layer moved away
//! pays for two transfers, a run for none between its members.

use super::genome::{Analogues, Genes, Genome, ranges};
use crate::ids::CoreId;
use crate::pipeline::Problem;
use millstream_solver::Sequence;
use std::ops::Range;

/// Makes neighbours of genomes.
pub struct Variation<'a> {
    genes: &'a Genes<'a>,
    analogues: Analogues,
    cores: Vec<CoreId>,
    /// Layers with more than one choice.
    open: Vec<usize>,
}

impl<'a> Variation<'a> {
    /// The moves of an alphabet.
    pub fn new(problem: &Problem, genes: &'a Genes<'a>) -> Self {
        let layers = 0..genes.space.layers.len();
        Self {
            genes,
            analogues: Analogues::new(problem),
            cores: problem.accelerator.compute_cores().collect(),
            open: layers.filter(|layer| genes.space.layers[*layer].len() > 1).collect(),
        }
    }

    /// A random genome with the stacks of `like`.
    pub fn random(&self, like: &Genome, sequence: &mut Sequence) -> Genome {
        let mut genome = like.clone();
        for (layer, choices) in self.genes.space.layers.iter().enumerate() {
            genome.choices[layer] = sequence.below(choices.len()) as u32;
            if self.genes.stacks {
                genome.begins[layer] = sequence.chance(50);
            }
        }
        for rows in &mut genome.rows {
            *rows = sequence.below(self.genes.tilings()) as u8;
        }
        self.genes.canonical(genome)
    }

    /// A neighbour; equal to `genome` if the move it drew changes nothing.
    pub fn neighbour(&self, genome: &Genome, sequence: &mut Sequence) -> Genome {
        let mut changed = genome.clone();
        match sequence.below(100) {
            0..40 => self.shift(&mut changed, sequence),
            40..55 => self.assign(&mut changed, sequence),
            55..70 => self.swap(&mut changed, sequence),
            70..85 => self.recut(&mut changed, sequence),
            _ => self.restack(&mut changed, sequence),
        }
        self.genes.canonical(changed)
    }

    /// A child of two parents.
    pub fn child(&self, mother: &Genome, father: &Genome, sequence: &mut Sequence) -> Genome {
        let mut child = mother.clone();
        if sequence.chance(70) {
            let run = self.run(child.choices.len(), sequence);
            child.begins[run.clone()].copy_from_slice(&father.begins[run.clone()]);
            child.rows[run.clone()].copy_from_slice(&father.rows[run.clone()]);
            child.choices[run.clone()].copy_from_slice(&father.choices[run]);
            child = self.genes.canonical(child);
        }
        let mutations = 1 + usize::from(sequence.chance(30));
        (0..mutations).fold(child, |child, _| self.neighbour(&child, sequence))
    }

    /// A run of layers: half of them short, the longest the whole network.
    fn run(&self, layers: usize, sequence: &mut Sequence) -> Range<usize> {
        let start = sequence.below(layers);
        let mut length = 1;
        while start + length < layers && sequence.chance(70) {
            length += 1;
        }
        start..start + length
    }

    fn shift(&self, genome: &mut Genome, sequence: &mut Sequence) {
        let Some(&first) = sequence.pick(&self.open) else { return };
        let choice = sequence.below(self.genes.space.layers[first].len()) as u32;
        let run = self.run(genome.choices.len() - first, sequence);
        for layer in first..first + run.len() {
            if let Some(analogue) = self.analogues.find(first, choice, layer) {
                genome.choices[layer] = analogue;
            }
        }
    }

    fn assign(&self, genome: &mut Genome, sequence: &mut Sequence) {
        let Some(&layer) = sequence.pick(&self.open) else { return };
        genome.choices[layer] = sequence.below(self.genes.space.layers[layer].len()) as u32;
    }

    fn swap(&self, genome: &mut Genome, sequence: &mut Sequence) {
        let one = self.cores[sequence.below(self.cores.len())];
        let other = self.cores[sequence.below(self.cores.len())];
        for layer in self.run(genome.choices.len(), sequence) {
            if let Some(choice) = self.analogues.exchanged(layer, genome.choices[layer], [one, other]) {
                genome.choices[layer] = choice;
            }
        }
    }

    fn recut(&self, genome: &mut Genome, sequence: &mut Sequence) {
        if self.genes.rows.is_empty() {
            return self.shift(genome, sequence);
        }
        let stacks: Vec<Range<usize>> = ranges(&genome.begins).collect();
        let Some(stack) = sequence.pick(&stacks) else { return };
        genome.rows[stack.clone()].fill(sequence.below(self.genes.tilings()) as u8);
    }

    fn restack(&self, genome: &mut Genome, sequence: &mut Sequence) {
        if !self.genes.stacks || genome.begins.len() < 2 {
            return self.shift(genome, sequence);
        }
        let layer = 1 + sequence.below(genome.begins.len() - 1);
        genome.begins[layer] = !genome.begins[layer];
    }
}
