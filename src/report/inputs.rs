//! The resolved inputs of a result, and the mapping that reproduces it.

use super::saved::{SavedClaims, SavedOptions};
use super::{Run, json};
use crate::allocation::Candidate;
use crate::fusion::Cut;
use crate::mapping::{Mapping, MappingEntry, Pieces, Split};
use crate::pipeline::Problem;
use crate::schedule::Schedule;
use crate::workload::Layer;

/// File names with contents: `inputs/*.json` and `mapping.yaml`.
pub(super) fn files(run: &Run) -> Vec<(String, String)> {
    let problem = run.problem;
    let options = SavedOptions {
        run: run.options.clone(),
        search: problem.search.clone(),
        schedule: problem.schedule.clone(),
    };
    let evaluation = &run.outcome.evaluation;
    let claims = SavedClaims {
        schedule: Schedule { log: None, ..evaluation.schedule.clone() },
        ledger: evaluation.ledger.clone(),
    };
    let mut files = vec![
        ("inputs/workload.json".to_owned(), json(&problem.workload)),
        ("inputs/accelerator.json".to_owned(), json(&problem.accelerator)),
        ("inputs/mapping.json".to_owned(), json(&problem.mapping)),
        ("inputs/candidate.json".to_owned(), json(&run.outcome.candidate)),
        ("inputs/options.json".to_owned(), json(&options)),
        ("mapping.yaml".to_owned(), crate::mapping::write(&found(problem, &run.outcome.candidate))),
        ("claims.json".to_owned(), json(&claims)),
    ];
    files.extend(problem.overrides.text().map(|text| ("inputs/costs.csv".to_owned(), text.to_owned())));
    files
}

/// The allocation found, as a mapping: `--policy fixed -m mapping.yaml` reproduces the run.
pub fn found(problem: &Problem, candidate: &Candidate) -> Mapping {
    let layers = problem.workload.layers_per_inference();
    let entries = (problem.workload.layers[..layers].iter().enumerate())
        .map(|(index, layer)| {
            let tiling = &candidate.tiling.layers[index];
            let given = problem.mapping.entry(layer);
            MappingEntry {
                name: layer.name.clone(),
                intra_core_tiling: Some(splits(layer, &tiling.intra)),
                inter_core_tiling: Some(splits(layer, &tiling.inter)),
                allocation: Some(
                    (candidate.cores[index].iter())
                        .map(|core| problem.accelerator.core(*core).number)
                        .collect(),
                ),
                rank: Some(candidate.order[index]),
                spatial: given.map_or_else(Vec::new, |entry| entry.spatial.clone()),
                spatial_hints: given.map_or_else(Vec::new, |entry| entry.spatial_hints.clone()),
                order: given.map_or_else(Vec::new, |entry| entry.order.clone()),
                ..MappingEntry::default()
            }
        })
        .collect();
    let name = |id: &crate::ids::LayerId| problem.workload.layer(*id).name.clone();
    let stacks = (candidate.tiling.stacks.iter())
        .filter(|stack| stack.layers.len() > 1 && stack.layers[0].index() < layers)
        .map(|stack| stack.layers.iter().map(name).collect())
        .collect();
    Mapping { entries, stacks, ..Mapping::default() }
}

fn splits(layer: &Layer, cuts: &[Cut]) -> Vec<Split> {
    (cuts.iter())
        .map(|cut| Split { dim: layer.dims[cut.dim].dim.clone(), pieces: Pieces::Tile(cut.tile) })
        .collect()
}
