//! One core as a depth-first study sees it: memories by operand, DRAM on top.

use crate::accelerator::{Accelerator, CoreKind, Direction, Memory, Port};
use crate::cost::Hierarchy;
use crate::workload::MemoryOperand;
use crate::workload::MemoryOperand::{I1, I2, O};

/// A core with its memories.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The core; its own DRAM level, if it has one, is its last memory.
    pub kind: CoreKind,
    hierarchy: Hierarchy,
    /// Positions of the memories of I1, I2 and O, lowest first; DRAM is the last of each.
    levels: [Vec<usize>; 3],
    /// Whether a memory exists once.
    single: Vec<bool>,
}

/// Why an accelerator has no depth-first study.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// Several cores, or none.
    #[error(
        "a depth-first study is about one core; `{accelerator}` has {cores} that compute: name a lone core"
    )]
    Cores {
        /// Accelerator.
        accelerator: String,
        /// Cores that compute.
        cores: usize,
    },
    /// No memory above all operands.
    #[error("core `{core}` has no DRAM: neither a top memory of I1, I2 and O together nor a core with DRAM")]
    NoDram {
        /// Core.
        core: String,
    },
}

fn slot(operand: MemoryOperand) -> usize {
    match operand {
        I1 => 0,
        I2 => 1,
        O => 2,
    }
}

impl Machine {
    /// The only core of an accelerator.
    ///
    /// # Errors
    /// [`MachineError`]
    pub fn new(accelerator: &Accelerator) -> Result<Self, MachineError> {
        let cores: Vec<_> = accelerator.compute_cores().collect();
        let [core] = cores[..] else {
            return Err(MachineError::Cores { accelerator: accelerator.name.clone(), cores: cores.len() });
        };
        let kind = accelerator.kind(core).clone();
        let dram = accelerator.pools.iter().find(|pool| pool.dram && pool.core != core);
        let dram = dram.map(|pool| &accelerator.kind(pool.core).memories[pool.memory]);
        let hierarchy = Hierarchy::of(&kind, &[I1, I2, O], dram);
        let levels = [I1, I2, O].map(|operand| {
            let holds = |memory: &Memory| memory.operands.contains(&operand);
            (0..hierarchy.memories.len()).filter(|at| holds(&hierarchy.memories[*at])).collect::<Vec<_>>()
        });
        let top = levels[0].last();
        if top.is_none() || levels.iter().any(|levels| levels.last() != top) {
            return Err(MachineError::NoDram { core: kind.name });
        }
        let single = (hierarchy.memories.iter())
            .map(|memory| {
                let dims = kind.array.dims.iter().enumerate();
                dims.filter(|(dim, _)| !memory.served.contains(dim)).all(|(_, (_, units))| *units == 1)
            })
            .collect();
        Ok(Self { kind, hierarchy, levels, single })
    }

    /// Positions of the memories of an operand, lowest first.
    pub(super) fn levels(&self, operand: MemoryOperand) -> &[usize] {
        &self.levels[slot(operand)]
    }

    /// Level of a memory among those of an operand.
    pub(super) fn level(&self, operand: MemoryOperand, memory: usize) -> Option<usize> {
        self.levels(operand).iter().position(|other| *other == memory)
    }

    /// DRAM.
    pub(super) fn dram(&self) -> usize {
        self.hierarchy.memories.len() - 1
    }

    /// The highest memory on chip that exists once and holds inputs and outputs.
    pub(super) fn keeper(&self) -> Option<usize> {
        let on_chip = self.levels(I1).iter().copied().filter(|memory| *memory != self.dram());
        on_chip.rev().find(|memory| self.single[*memory] && self.levels(O).contains(memory))
    }

    pub(super) fn memory(&self, memory: usize) -> &Memory {
        &self.hierarchy.memories[memory]
    }

    pub(super) fn capacity(&self, memory: usize) -> u64 {
        self.hierarchy.memories[memory].size.0
    }

    /// Name of a memory.
    pub fn memory_name(&self, memory: usize) -> &str {
        &self.hierarchy.memories[memory].name
    }

    /// Size of the largest weight memory below DRAM.
    pub(super) fn weight_room(&self) -> u64 {
        let levels = self.levels(I2);
        levels.len().checked_sub(2).map_or(0, |below| self.capacity(levels[below]))
    }

    /// The lowest memory of an operand that exists once, passes `fits`, and is at or above `from`.
    pub(super) fn lowest(&self, operand: MemoryOperand, fits: impl Fn(usize) -> bool) -> usize {
        let levels = self.levels(operand).iter().copied();
        levels.filter(|memory| self.single[*memory]).find(|memory| fits(*memory)).unwrap_or(self.dram())
    }

    /// The next memory of an operand above.
    pub(super) fn above(&self, operand: MemoryOperand, memory: usize, steps: usize) -> Option<usize> {
        let level = self.level(operand, memory)?;
        self.levels(operand).get(level + steps).copied()
    }

    /// The port through which an operand moves.
    pub(super) fn port(
        &self,
        memory: usize,
        operand: MemoryOperand,
        direction: Direction,
    ) -> Option<(usize, &Port)> {
        let ports = self.hierarchy.memories[memory].ports.iter().enumerate();
        ports.into_iter().find(|(_, port)| port.allocation.contains(&(operand, direction)))
    }

    /// The memories up to `tops` (of I1, I2, O), for I1 without its `bypassed` lowest ones. With
    /// `second_map` the second input is a map: it lies in the memories of the first (MODEL.md 12).
    /// `taken` bits of one memory are not free.
    pub(super) fn up_to(
        &self,
        tops: [usize; 3],
        second_map: bool,
        bypassed: usize,
        taken: Option<(usize, u64)>,
    ) -> Hierarchy {
        let mut hierarchy = self.hierarchy.clone();
        if let Some((memory, bits)) = taken {
            let size = &mut hierarchy.memories[memory].size.0;
            *size = size.saturating_sub(bits);
        }
        if second_map {
            for memory in &mut hierarchy.memories {
                attach_second_map(memory);
            }
        }
        let holds = |at: usize, operand: MemoryOperand| {
            let like = if operand == I2 && second_map { I1 } else { operand };
            let low = like == I1 && self.levels(I1)[..bypassed].contains(&at);
            at <= tops[slot(like)] && !low
        };
        for (at, memory) in hierarchy.memories.iter_mut().enumerate() {
            memory.operands.retain(|operand| holds(at, *operand));
            for port in &mut memory.ports {
                port.allocation.retain(|(operand, _)| holds(at, *operand));
            }
        }
        hierarchy.memories.retain(|memory| !memory.operands.is_empty());
        hierarchy.dram = None;
        hierarchy
    }
}

/// Lets I2 use what I1 uses, and nothing else.
fn attach_second_map(memory: &mut Memory) {
    let both = |operands: &mut Vec<MemoryOperand>| {
        operands.retain(|operand| *operand != I2);
        if let Some(at) = operands.iter().position(|operand| *operand == I1) {
            operands.insert(at + 1, I2);
        }
    };
    both(&mut memory.operands);
    for port in &mut memory.ports {
        port.allocation.retain(|(operand, _)| *operand != I2);
        let first = port.allocation.iter().filter(|(operand, _)| *operand == I1);
        let second: Vec<_> = first.map(|(_, direction)| (I2, *direction)).collect();
        port.allocation.extend(second);
    }
}
