//! Every genome of a small space: stacks, rows and choices.

use super::genome::{Genes, Genome, ranges};
use super::search::SearchError;
use crate::fusion::Stack;
use std::collections::BTreeSet;

/// Most layers whose stacks are enumerated.
const MOST_LAYERS: usize = 24;

/// All genomes in lexicographic order, if there are at most `limit`.
pub fn genomes(genes: &Genes, stacks: &[Stack], limit: usize) -> Result<Vec<Genome>, SearchError> {
    let layers = genes.space.layers.len();
    let choices = genes.count();
    let too_large = |count: f64| SearchError::TooLarge { count, limit };
    if choices > limit as f64 {
        return Err(too_large(choices));
    }
    let mut frames: BTreeSet<Genome> = BTreeSet::new();
    let given = genes.genome(stacks, 0, &vec![0; layers]);
    if !genes.stacks {
        frames.extend(with_rows(genes, &given));
    } else if layers > MOST_LAYERS {
        return Err(too_large(choices * 2f64.powi(layers as i32 - 1)));
    } else {
        for pattern in 0..1u64 << layers.saturating_sub(1) {
            let begins = (0..layers).map(|layer| layer == 0 || pattern >> (layer - 1) & 1 == 1).collect();
            frames.extend(with_rows(genes, &Genome { begins, ..given.clone() }));
            if frames.len() as f64 * choices > limit as f64 {
                // The enumeration stops here: what is told is a lower bound.
                return Err(too_large(frames.len() as f64 * choices));
            }
        }
    }
    if frames.len() as f64 * choices > limit as f64 {
        return Err(too_large(frames.len() as f64 * choices));
    }
    let sizes: Vec<usize> = genes.space.layers.iter().map(Vec::len).collect();
    let vectors: Vec<Vec<u32>> = (0..choices as usize)
        .map(|mut number| {
            let digit = |size: &usize| {
                let digit = number % size;
                number /= size;
                digit as u32
            };
            sizes.iter().map(digit).collect()
        })
        .collect();
    Ok(frames
        .iter()
        .flat_map(|frame| vectors.iter().map(|choices| Genome { choices: choices.clone(), ..frame.clone() }))
        .collect())
}

/// A genome with every number of rows in every stack.
fn with_rows(genes: &Genes, frame: &Genome) -> BTreeSet<Genome> {
    let whole = Genome { rows: vec![0; frame.rows.len()], ..frame.clone() };
    let mut all = BTreeSet::from([genes.canonical(whole)]);
    for stack in ranges(&frame.begins) {
        let each = |genome: Genome| {
            let stack = stack.clone();
            (0..genes.tilings() as u8).map(move |rows| {
                let mut genome = genome.clone();
                genome.rows[stack.clone()].fill(rows);
                genes.canonical(genome)
            })
        };
        all = all.into_iter().flat_map(each).collect();
    }
    all
}
