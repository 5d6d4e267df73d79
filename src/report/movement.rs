//! Data movement between cores by where it goes: on chip, die to die, DRAM.
//!
//! ```text
//! on_chip      connections of class noc and bus; words at the pools on chip that transfers read and write
//! die_to_die   connections of class d2d
//! dram         connections of class offchip; all accesses of DRAM, streams included
//! ```
//!
//! A transfer over several classes has its part in each. Cycles are those in which connections (for
//! `dram`: ports of DRAM) are used, summed over them.

use crate::accelerator::{Accelerator, LinkClass, ResourceKind};
use crate::ledger::{Action, Component, Ledger};
use crate::schedule::Traffic;
use serde::{Deserialize, Serialize};

/// Movement by where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    /// Between cores of one die.
    pub on_chip: Moved,
    /// Between dies.
    pub die_to_die: Moved,
    /// From and to external memory.
    pub dram: Moved,
}

/// Energy and time of one kind of movement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Picojoules.
    pub energy_pj: f64,
    /// Cycles in use, summed over connections (ports for DRAM).
    pub active_cycles: u64,
    /// Bits moved, summed over connections (ports for DRAM).
    pub bits: u64,
}

/// Splits the movement of a schedule.
pub fn movement(accelerator: &Accelerator, ledger: &Ledger, traffic: &Traffic) -> Movement {
    let mut movement = Movement::default();
    for row in &ledger.rows {
        let moved = match (row.component, row.action) {
            (Component::Link(link), _) => movement.of(accelerator.links[link as usize].class),
            (Component::Memory(core, _), _) if accelerator.kind(core).memory_only => &mut movement.dram,
            (Component::Memory(..), Action::Send | Action::Receive) => &mut movement.on_chip,
            _ => continue,
        };
        moved.energy_pj += row.energy().0;
    }
    for (index, resource) in accelerator.resources.iter().enumerate() {
        let moved = match resource.kind {
            ResourceKind::Port { pool, .. } if accelerator.pool(pool).dram => &mut movement.dram,
            ResourceKind::Link { link, .. } | ResourceKind::Bus { link } => {
                match accelerator.links[link as usize].class {
                    LinkClass::Offchip => continue, // its bits pass the ports of DRAM
                    class => movement.of(class),
                }
            }
            ResourceKind::Port { .. } => continue,
        };
        moved.active_cycles += traffic.active[index].0;
        moved.bits += traffic.bits[index].0;
    }
    movement
}

impl Movement {
    fn of(&mut self, class: LinkClass) -> &mut Moved {
        match class {
            LinkClass::Noc | LinkClass::Bus => &mut self.on_chip,
            LinkClass::D2d => &mut self.die_to_die,
            LinkClass::Offchip => &mut self.dram,
        }
    }
}
