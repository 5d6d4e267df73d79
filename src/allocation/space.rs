//! The space all policies search: per layer, the cores it may run on and how it may be split.
//!
//! A [`LayerChoice`] is a split over cores with the core of each part. Within the mapping's choices a
//! layer may run whole on any of its cores, or be split in output channels (`K`, or `G`) or rows
//! (`OY`) over pairs of identical cores or all of them. Splits in channels divide the weights and
//! multicast the inputs; splits in rows repeat the weights and exchange only halos.

use super::Candidate;
use crate::accelerator::Accelerator;
use crate::diagnostic::nearest;
use crate::fusion::{Cut, LayerTiling, Stack, Tiling};
use crate::ids::CoreId;
use crate::mapping::{Mapping, MappingEntry, Pieces, Split};
use crate::workload::{Dim, Layer, Workload};

/// Choices of every layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Per layer; never empty.
    pub layers: Vec<Vec<LayerChoice>>,
}

/// One way to run a layer on cores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerChoice {
    /// Cuts over cores.
    pub inter: Vec<Cut>,
    /// Core of each part.
    pub cores: Vec<CoreId>,
}

/// A mapping that cannot be followed, or a layer nobody can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// No core executes the layer.
    #[error(
        "layer {layer} ({operator}): no core executes it; {cores}. Add {operator} to the operator_types of a core, or name cores for it in a mapping"
    )]
    NoCore {
        /// Layer name.
        layer: String,
        /// Operator.
        operator: String,
        /// What the cores execute.
        cores: String,
    },
    /// The mapping names a core that does not exist or does not compute.
    #[error("mapping entry `{entry}`: core {core} {problem}; cores that compute: {available}")]
    BadCore {
        /// Entry name.
        entry: String,
        /// Core number.
        core: u32,
        /// `does not exist` or `is a DRAM core`.
        problem: &'static str,
        /// Numbers.
        available: String,
    },
    /// The mapping splits a dimension the layer does not have.
    #[error("mapping entry `{entry}`: layer {layer} has no dimension {dim}; its dimensions: {available}")]
    NoDim {
        /// Entry name.
        entry: String,
        /// Layer name.
        layer: String,
        /// Dimension asked for.
        dim: String,
        /// Dimensions there are.
        available: String,
    },
    /// An allocation of the wrong length.
    #[error("mapping entry `{entry}`: layer {layer} has {parts} parts, but `allocation` names {given} cores")]
    WrongParts {
        /// Entry name.
        entry: String,
        /// Layer name.
        layer: String,
        /// Parts by `inter_core_tiling`.
        parts: u64,
        /// Cores named.
        given: usize,
    },
    /// `--policy fixed` without an allocation.
    #[error(
        "--policy fixed needs a core for every layer, but the mapping leaves layer {layer} open: give its entry an `allocation` or a single core (a result's mapping.yaml has them)"
    )]
    NotFixed {
        /// Layer name.
        layer: String,
    },
    /// A mapping entry for a layer or operator that is not in the workload.
    #[error(
        "mapping entry `{entry}` names neither a layer nor an operator of workload {workload}; did you mean `{near}`?"
    )]
    UnknownEntry {
        /// Entry name.
        entry: String,
        /// Workload name.
        workload: String,
        /// A layer of a similar name.
        near: String,
    },
}

impl SpaceError {
    /// The mapping entry at fault.
    pub fn entry(&self) -> Option<&str> {
        match self {
            Self::BadCore { entry, .. }
            | Self::NoDim { entry, .. }
            | Self::WrongParts { entry, .. }
            | Self::UnknownEntry { entry, .. } => Some(entry),
            Self::NoCore { .. } | Self::NotFixed { .. } => None,
        }
    }
}

impl Space {
    /// The space of a workload on an accelerator under a mapping.
    pub fn new(
        workload: &Workload,
        accelerator: &Accelerator,
        mapping: &Mapping,
    ) -> Result<Self, SpaceError> {
        check_entries(workload, mapping)?;
        let layers = (workload.layers.iter())
            .map(|layer| choices(layer, accelerator, mapping.entry(layer)))
            .collect::<Result<_, _>>()?;
        Ok(Self { layers })
    }

    /// The candidate of a choice per layer.
    pub fn candidate(&self, stacks: &[Stack], intra: &[Vec<Cut>], choices: &[u32]) -> Candidate {
        let chosen: Vec<&LayerChoice> =
            (self.layers.iter().zip(choices)).map(|(layer, choice)| &layer[*choice as usize]).collect();
        let tilings = (chosen.iter().zip(intra))
            .map(|(choice, intra)| LayerTiling { intra: intra.clone(), inter: choice.inter.clone() })
            .collect();
        Candidate {
            tiling: Tiling { stacks: stacks.to_vec(), layers: tilings },
            cores: chosen.iter().map(|choice| choice.cores.clone()).collect(),
            order: (0..choices.len() as u32).collect(),
        }
    }

    /// The single choice of every layer, if the mapping leaves nothing open.
    pub fn fixed(&self, workload: &Workload) -> Result<Vec<u32>, SpaceError> {
        match self.layers.iter().position(|choices| choices.len() > 1) {
            Some(layer) => Err(SpaceError::NotFixed { layer: workload.layers[layer].name.clone() }),
            None => Ok(vec![0; self.layers.len()]),
        }
    }
}

fn check_entries(workload: &Workload, mapping: &Mapping) -> Result<(), SpaceError> {
    // What is like no layer is noted (ZigZag's files have entries as examples); a near miss is a mistake.
    for entry in mapping.entries.iter().filter(|entry| entry.is_unknown(workload)) {
        if let Some(near) = entry.near(workload) {
            return Err(SpaceError::UnknownEntry {
                entry: entry.name.clone(),
                workload: workload.name.clone(),
                near: near.to_owned(),
            });
        }
    }
    Ok(())
}

/// Cuts of a split in a layer's dimensions.
pub fn cut(layer: &Layer, entry: &MappingEntry, split: &Split) -> Result<Option<Cut>, SpaceError> {
    let Some(dim) = layer.position(&split.dim) else {
        // An entry for an operator or `default` may name dimensions only some layers have.
        if entry.name != layer.name {
            return Ok(None);
        }
        let dims: Vec<String> = layer.dims.iter().map(|dim| dim.dim.to_string()).collect();
        return Err(SpaceError::NoDim {
            entry: entry.name.clone(),
            layer: layer.name.clone(),
            dim: split.dim.to_string(),
            available: dims.join(", "),
        });
    };
    let size = layer.dims[dim].size;
    Ok(match split.pieces {
        Pieces::All => Some(Cut { dim, tile: 1 }),
        Pieces::Count(pieces) => Some(Cut::into_pieces(dim, size, pieces)),
        Pieces::Tile(tile) => Some(Cut { dim, tile: tile.clamp(1, size) }),
        Pieces::Auto => None,
    })
}

fn choices(
    layer: &Layer,
    accelerator: &Accelerator,
    entry: Option<&MappingEntry>,
) -> Result<Vec<LayerChoice>, SpaceError> {
    let cores = eligible(layer, accelerator, entry)?;
    let mut given = Vec::new();
    let mut open = true;
    if let Some(entry) = entry
        && let Some(splits) = &entry.inter_core_tiling
    {
        open = splits.iter().any(|split| split.pieces == Pieces::Auto);
        for split in splits {
            given.extend(cut(layer, entry, split)?);
        }
    }
    let tiling = LayerTiling { intra: Vec::new(), inter: given.clone() };
    let parts = tiling.parts(layer);
    if let Some(entry) = entry
        && let Some(allocation) = &entry.allocation
    {
        if allocation.len() as u64 != parts {
            let (entry, layer) = (entry.name.clone(), layer.name.clone());
            return Err(SpaceError::WrongParts { entry, layer, parts, given: allocation.len() });
        }
        let cores = numbered(accelerator, entry, allocation)?;
        return Ok(vec![LayerChoice { inter: given, cores }]);
    }
    if !given.is_empty() {
        return Ok(spread(&given, parts as usize, &cores));
    }
    let mut choices: Vec<LayerChoice> =
        cores.iter().map(|core| LayerChoice { inter: Vec::new(), cores: vec![*core] }).collect();
    if open {
        choices.extend(splits(layer, accelerator, &cores));
    }
    Ok(choices)
}

/// A given split over the cores: in order, and rotated.
fn spread(inter: &[Cut], parts: usize, cores: &[CoreId]) -> Vec<LayerChoice> {
    let rotations = if parts.is_multiple_of(cores.len()) { 1 } else { cores.len() };
    (0..rotations)
        .map(|shift| LayerChoice {
            inter: inter.to_vec(),
            cores: (0..parts).map(|part| cores[(part + shift) % cores.len()]).collect(),
        })
        .collect()
}

/// Splits in channels and rows over all cores of a kind, and over pairs where there are few.
fn splits(layer: &Layer, accelerator: &Accelerator, cores: &[CoreId]) -> Vec<LayerChoice> {
    let mut choices = Vec::new();
    for kind in 0..accelerator.kinds.len() {
        let alike: Vec<CoreId> =
            cores.iter().copied().filter(|core| accelerator.core(*core).kind.index() == kind).collect();
        let mut sets: Vec<Vec<CoreId>> = vec![alike.clone()];
        if (3..=4).contains(&alike.len()) {
            for first in 0..alike.len() {
                for second in first + 1..alike.len() {
                    sets.push(vec![alike[first], alike[second]]);
                }
            }
        }
        let rows = layer.position(&Dim::new("OY")).or_else(|| layer.position(&Dim::new("D")));
        for dim in [layer.channel_dim(), rows].into_iter().flatten() {
            for set in sets.iter().filter(|set| set.len() > 1) {
                let cut = Cut::into_pieces(dim, layer.dims[dim].size, set.len() as u64);
                let parts = layer.dims[dim].size.div_ceil(cut.tile) as usize;
                if parts > 1 {
                    choices.push(LayerChoice { inter: vec![cut], cores: set[..parts].to_vec() });
                }
            }
        }
    }
    choices
}

/// Cores a layer may run on: the mapping's, else specialised ones, else general ones.
fn eligible(
    layer: &Layer,
    accelerator: &Accelerator,
    entry: Option<&MappingEntry>,
) -> Result<Vec<CoreId>, SpaceError> {
    if let Some(entry) = entry
        && let Some(numbers) = &entry.cores
    {
        return numbered(accelerator, entry, numbers);
    }
    let listed = |core: &CoreId| accelerator.kind(*core).operator_types.is_some();
    let claiming: Vec<CoreId> = (accelerator.compute_cores())
        .filter(|core| accelerator.kind(*core).claims(&layer.operator))
        .collect();
    let special: Vec<CoreId> = claiming.iter().copied().filter(listed).collect();
    let cores = if special.is_empty() { claiming } else { special };
    if !cores.is_empty() {
        return Ok(cores);
    }
    let executes = accelerator.compute_cores().map(|core| {
        let operators = accelerator.kind(core).operator_types.as_deref().unwrap_or_default();
        let near = nearest(&layer.operator, operators.iter().map(String::as_str));
        let hint =
            near.map_or_else(String::new, |near| format!(" (is `{near}` meant as {}?)", layer.operator));
        format!("core {} executes {}{hint}", accelerator.core(core).number, operators.join(", "))
    });
    Err(SpaceError::NoCore {
        layer: layer.name.clone(),
        operator: layer.operator.clone(),
        cores: executes.collect::<Vec<_>>().join("; "),
    })
}

fn numbered(
    accelerator: &Accelerator,
    entry: &MappingEntry,
    numbers: &[u32],
) -> Result<Vec<CoreId>, SpaceError> {
    let find = |number: &u32| {
        let at = accelerator.cores.iter().position(|core| core.number == *number);
        let problem = match at.map(CoreId::from) {
            Some(core) if accelerator.kind(core).memory_only => "is a DRAM core",
            Some(core) => return Ok(core),
            None => "does not exist",
        };
        let available: Vec<String> =
            accelerator.compute_cores().map(|core| accelerator.core(core).number.to_string()).collect();
        Err(SpaceError::BadCore {
            entry: entry.name.clone(),
            core: *number,
            problem,
            available: available.join(", "),
        })
    };
    numbers.iter().map(find).collect()
}

/// Cuts in time of every layer: the mapping's, else `rows` rows, else (none given) the whole layer.
pub fn layer_cuts(
    workload: &Workload,
    mapping: &Mapping,
    rows: Option<u64>,
) -> Result<Vec<Vec<Cut>>, SpaceError> {
    let cuts = |layer: &Layer| {
        if let Some(entry) = mapping.entry(layer)
            && let Some(splits) = &entry.intra_core_tiling
        {
            let cuts: Result<Vec<_>, _> = splits.iter().map(|split| cut(layer, entry, split)).collect();
            return Ok(cuts?.into_iter().flatten().collect());
        }
        let position = layer.position(&Dim::new("OY")).or_else(|| layer.position(&Dim::new("D")));
        let cut = position.zip(rows).filter(|(dim, rows)| layer.dims[*dim].size > *rows);
        Ok(cut.map(|(dim, tile)| Cut { dim, tile }).into_iter().collect())
    };
    workload.layers.iter().map(cuts).collect()
}

/// Cuts in time under stacks: `rows` rows where the mapping leaves it open, whole layers when alone.
pub fn intra_cuts(
    workload: &Workload,
    mapping: &Mapping,
    stacks: &[Stack],
    rows: u64,
) -> Result<Vec<Vec<Cut>>, SpaceError> {
    let mut cuts = layer_cuts(workload, mapping, None)?;
    let fused = layer_cuts(workload, mapping, Some(rows))?;
    for layer in stacks.iter().filter(|stack| stack.layers.len() > 1).flat_map(|stack| &stack.layers) {
        cuts[layer.index()].clone_from(&fused[layer.index()]);
    }
    Ok(cuts)
}
