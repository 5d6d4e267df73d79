//! Stacks: which contiguous layers are fused.
//!
//! `weights` is Stream's rule (MODEL.md 8.2): layers join the first stack until their weights exceed
//! the weight pools of all cores; every later layer is alone. `auto` goes on: a new stack begins
//! wherever the weights of the current one would exceed those pools, so that no stack has to fetch
//! its weights again. `all` fuses everything, `none` nothing.

use super::Stack;
use crate::accelerator::Accelerator;
use crate::ids::LayerId;
use crate::units::Bits;
use crate::workload::{Layer, MemoryOperand, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How layers are gathered in stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Stacking {
    /// Consecutive stacks whose weights fit on chip.
    #[default]
    Auto,
    /// One stack whose weights fit on chip, then single layers (Stream's rule).
    Weights,
    /// One stack of all layers.
    All,
    /// Every layer alone.
    None,
}

/// Gathers the layers in stacks.
pub fn stacks(workload: &Workload, accelerator: &Accelerator, stacking: Stacking) -> Vec<Stack> {
    let capacity = weight_capacity(accelerator);
    let mut stacks: Vec<Stack> = Vec::new();
    let mut weights = Bits::ZERO;
    let mut closed = false;
    for id in workload.layer_ids() {
        let bits = weight_bits(workload, workload.layer(id));
        weights += bits;
        let joins = match stacking {
            Stacking::None => false,
            Stacking::All => true,
            Stacking::Auto => weights <= capacity,
            Stacking::Weights => {
                closed |= weights > capacity;
                !closed
            }
        };
        match stacks.last_mut() {
            Some(stack) if joins => stack.layers.push(id),
            _ => {
                stacks.push(Stack { layers: vec![id] });
                weights = bits;
            }
        }
    }
    stacks
}

/// Bits of a layer's constants.
pub fn weight_bits(workload: &Workload, layer: &Layer) -> Bits {
    (layer.inputs().iter())
        .filter(|operand| operand.constant)
        .filter_map(|operand| operand.tensor)
        .map(|tensor| Bits(workload.tensor(tensor).elements() * workload.tensor(tensor).element_bits))
        .sum()
}

/// Bits of all distinct pools of weights on chip.
fn weight_capacity(accelerator: &Accelerator) -> Bits {
    let pools: BTreeSet<_> = (accelerator.compute_cores())
        .filter_map(|core| accelerator.top_pool(core, MemoryOperand::I2))
        .collect();
    pools.into_iter().map(|pool| accelerator.pool(pool).size).sum()
}

/// Stacks given by layer names; layers not named are alone, in order.
pub fn from_names(workload: &Workload, names: &[Vec<String>]) -> Result<Vec<Stack>, String> {
    let mut stack_of = vec![None; workload.layers.len()];
    for (stack, layers) in names.iter().enumerate() {
        for name in layers {
            let Some(layer) = workload.layers.iter().position(|layer| layer.name == *name) else {
                return Err(format!(
                    "the mapping fuses layer `{name}`, which workload {} does not have",
                    workload.name
                ));
            };
            if stack_of[layer].replace(stack).is_some() {
                return Err(format!("the mapping puts layer `{name}` in two fused groups; keep one"));
            }
        }
    }
    let mut stacks: Vec<Stack> = Vec::new();
    let mut previous = None;
    for (layer, stack) in stack_of.into_iter().enumerate() {
        let layer = LayerId::from(layer);
        match (stacks.last_mut(), stack) {
            (Some(last), Some(_)) if stack == previous => last.layers.push(layer),
            _ => stacks.push(Stack { layers: vec![layer] }),
        }
        previous = stack;
    }
    Ok(stacks)
}
