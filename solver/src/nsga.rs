//! NSGA-II over any genome with two objectives.
//!
//! ```text
//! population <- seeds, then mutants of seeds
//! repeat  parents by binary tournament on (front, crowding) -> children -> evaluate
//!         population <- best of population and children by (front, crowding)
//! until the budget of evaluations is spent, or a generation brings nothing new
//! ```
//! Source: K. Deb et al., A fast and elitist multiobjective genetic algorithm: NSGA-II, 2002. Genomes
//! are unique in the population, evaluations go out a generation at a time (the caller may spread
//! them over threads), and the sequence of a seed decides everything else: equal inputs, equal
//! answers on any number of threads.

use crate::pareto::{Front, Values, crowding, ranks};
use crate::sequence::Sequence;
use std::collections::BTreeSet;

/// How the population lives.
#[derive(Debug, Clone, PartialEq)]
pub struct Breeding {
    /// Individuals that survive a generation.
    pub population: usize,
    /// Genomes evaluated in all.
    pub evaluations: usize,
    /// Seed of the sequence.
    pub seed: u64,
}

/// A genome that was evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Individual<G> {
    /// The genome.
    pub genome: G,
    /// Its two objectives.
    pub values: Values,
}

/// Genetic search. `child` makes a genome of two parents (crossover and mutation); `evaluate` gives
/// the values of a generation's genomes, `None` for those that are infeasible. Returns everything not
/// dominated that was ever seen.
pub fn nsga2<G: Clone + Ord>(
    seeds: &[G],
    breeding: &Breeding,
    mut child: impl FnMut(&G, &G, &mut Sequence) -> G,
    mut evaluate: impl FnMut(&[G]) -> Vec<Option<Values>>,
) -> Front<G> {
    let mut sequence = Sequence::new(breeding.seed);
    let mut known: BTreeSet<G> = BTreeSet::new();
    let mut front = Front::default();
    let mut population: Vec<Individual<G>> = Vec::new();
    let mut left = breeding.evaluations;
    let mut generation: Vec<G> = seeds.iter().filter(|seed| known.insert((*seed).clone())).cloned().collect();
    // Until something is feasible, children come from the seeds themselves.
    while !generation.is_empty() {
        generation.truncate(left);
        left -= generation.len();
        let values = evaluate(&generation);
        for (genome, values) in generation.into_iter().zip(values) {
            let Some(values) = values else { continue };
            front.offer(values, genome.clone());
            population.push(Individual { genome, values });
        }
        population = survivors(population, breeding.population);
        let missing = breeding.population.min(left);
        generation = Vec::new();
        for _ in 0..missing * ATTEMPTS {
            if generation.len() == missing {
                break;
            }
            let (mother, father) = match population.is_empty() {
                true => (sequence.pick(seeds), sequence.pick(seeds)),
                false => (tournament(&population, &mut sequence), tournament(&population, &mut sequence)),
            };
            let (Some(mother), Some(father)) = (mother, father) else { break };
            let genome = child(mother, father, &mut sequence);
            if known.insert(genome.clone()) {
                generation.push(genome);
            }
        }
    }
    front
}

/// Children tried per place in a generation before it counts as complete: small spaces run dry.
const ATTEMPTS: usize = 20;

/// The fitter of two at random; survivors are sorted from the fittest.
fn tournament<'a, G>(population: &'a [Individual<G>], sequence: &mut Sequence) -> Option<&'a G> {
    let one = sequence.below(population.len());
    let other = sequence.below(population.len());
    population.get(one.min(other)).map(|individual| &individual.genome)
}

/// The fittest `count`, from the fittest: by front, then by room, then by age.
fn survivors<G>(population: Vec<Individual<G>>, count: usize) -> Vec<Individual<G>> {
    let values: Vec<Values> = population.iter().map(|individual| individual.values).collect();
    let ranks = ranks(&values);
    let fronts = ranks.iter().max().map_or(0, |last| last + 1);
    let mut room = vec![0.0; values.len()];
    for rank in 0..fronts {
        let members: Vec<usize> = (0..values.len()).filter(|at| ranks[*at] == rank).collect();
        for (member, free) in members.iter().zip(crowding(&values, &members)) {
            room[*member] = free;
        }
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| ranks[a].cmp(&ranks[b]).then(room[b].total_cmp(&room[a])).then(a.cmp(&b)));
    let mut places: Vec<Option<Individual<G>>> = population.into_iter().map(Some).collect();
    order.into_iter().take(count).filter_map(|at| places[at].take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Genomes are numbers n < 64; values (n, (n - 20)^2): optimal are 0 to 20.
    fn search(evaluations: usize) -> Front<usize> {
        let breeding = Breeding { population: 12, evaluations, seed: 7 };
        let child = |a: &usize, b: &usize, sequence: &mut Sequence| match sequence.chance(50) {
            true => (a + b) / 2,
            false => (a ^ (1 << sequence.below(6))) % 64,
        };
        let evaluate = |genomes: &[usize]| {
            let value = |n: &usize| (*n != 5).then_some([*n as f64, (*n as f64 - 20.0).powi(2)]);
            genomes.iter().map(value).collect()
        };
        nsga2(&[63], &breeding, child, evaluate)
    }

    #[test]
    fn finds_the_front_without_the_infeasible() {
        let found: Vec<usize> = search(64).members.into_iter().map(|(_, n)| n).collect();
        let optimal: Vec<usize> = (0..=20).filter(|n| *n != 5).collect();
        assert_eq!(found, optimal);
    }

    #[test]
    fn keeps_to_its_budget() {
        let mut evaluated = 0;
        let breeding = Breeding { population: 4, evaluations: 10, seed: 0 };
        let child = |a: &usize, _: &usize, sequence: &mut Sequence| a + 1 + sequence.below(100);
        nsga2(&[0], &breeding, child, |genomes| {
            evaluated += genomes.len();
            genomes.iter().map(|n| Some([*n as f64, 0.0])).collect()
        });
        assert_eq!(evaluated, 10);
    }
}
