//! The ledger: every energy event once, as an integer count times a unit cost, in id order.
//!
//! ```text
//! energy = sum over rows of count * unit        (rows by component, then action)
//! ```
//!
//! CNs contribute the operations and word accesses of their class's [`Cost`]; transfers contribute
//! one read at the source, one write at each destination and the links they cross ([`Traffic`],
//! Rule (on-load)). Nothing else costs energy, and nothing is charged twice.

use crate::accelerator::route::Routes;
use crate::accelerator::{Accelerator, LinkEnergy, Port, ResourceKind};
use crate::cost::Cost;
use crate::ids::{CoreId, PoolId, ResourceId};
use crate::placement::Placement;
use crate::schedule::Traffic;
use crate::table::Table;
use crate::units::{Cycles, Picojoules};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Costs of the nodes of a [`Placement`], by index.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// One per [`Placement::nodes`].
    pub nodes: Vec<NodeCost>,
}

/// The cost of one placed node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCost {
    /// From the cost table.
    pub cost: Arc<Cost>,
    /// `cost.latency`, rounded up once (Rule (cycles)).
    pub cycles: Cycles,
    /// Bits the output needs in its pool while the node runs: at partial-sum precision if partial sums
    /// reach that memory, else at final precision.
    pub output_bits: u64,
    /// Bits of the on-chip tile of each streamed operand, per operand of the node (0 otherwise).
    pub stream_tiles: Vec<u64>,
}

/// All energy of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Rows in the order of components and actions; no row has a count of zero.
    pub rows: Vec<LedgerRow>,
}

/// One line of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// What spent the energy.
    pub component: Component,
    /// Doing what.
    pub action: Action,
    /// How often.
    pub count: u64,
    /// Energy of one.
    pub unit: Picojoules,
}

/// What spends energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// The operational array of a core.
    Array(CoreId),
    /// A memory of a core, by position in its kind's memories.
    Memory(CoreId, u32),
    /// A connection, by position in the accelerator's links.
    Link(u32),
}

/// What a component did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// One operation of one unit.
    Operate,
    /// Reads of full words by CNs.
    Read,
    /// Writes of full words by CNs.
    Write,
    /// Reads of narrow words by transfers.
    Send,
    /// Writes of narrow words by transfers.
    Receive,
    /// Cycles (or bits, for links priced per bit) of transfers.
    Traverse,
}

/// Energy by kind of component, as `summary.json` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySplit {
    /// Sum of the others.
    pub total: f64,
    /// Operational arrays.
    pub compute: f64,
    /// Memories on chip.
    pub memory: f64,
    /// Links and buses.
    pub links: f64,
    /// Memories of DRAM cores.
    pub dram: f64,
}

impl LedgerRow {
    /// Its energy.
    pub fn energy(&self) -> Picojoules {
        self.unit * self.count as f64
    }
}

impl Ledger {
    /// Total energy, summed in row order.
    pub fn total(&self) -> Picojoules {
        self.rows.iter().map(LedgerRow::energy).sum()
    }

    /// One row per component, action and unit cost, then the total.
    pub fn table(&self, accelerator: &Accelerator) -> String {
        let mut table = Table::new(&["component", "action", "count", "pJ each", "pJ"]);
        for row in &self.rows {
            let component = match row.component {
                Component::Array(core) => format!("array of core {}", accelerator.core(core).number),
                Component::Memory(core, memory) => {
                    let name = &accelerator.kind(core).memories[memory as usize].name;
                    format!("{name} of core {}", accelerator.core(core).number)
                }
                Component::Link(link) => format!("connection {link}"),
            };
            let action = format!("{:?}", row.action).to_lowercase();
            let (unit, energy) = (row.unit.0.to_string(), row.energy().0.to_string());
            table.row(vec![component, action, row.count.to_string(), unit, energy]);
        }
        format!(
            "{table}
total {} pJ\n",
            self.total().0
        )
    }

    /// Energy by kind of component.
    pub fn split(&self, accelerator: &Accelerator) -> EnergySplit {
        let mut split = EnergySplit::default();
        for row in &self.rows {
            let energy = row.energy().0;
            match row.component {
                Component::Array(_) => split.compute += energy,
                Component::Memory(core, _) if accelerator.kind(core).memory_only => split.dram += energy,
                Component::Memory(..) => split.memory += energy,
                Component::Link(_) => split.links += energy,
            }
        }
        split.total = self.total().0;
        split
    }
}

/// Books all energy of a schedule.
pub fn book(
    accelerator: &Accelerator,
    routes: &Routes,
    placement: &Placement,
    costs: &Costs,
    traffic: &Traffic,
) -> Ledger {
    let mut rows: BTreeMap<(Component, Action, u64), u64> = BTreeMap::new();
    let mut add = |component, action, unit: Picojoules, count: u64| {
        if count > 0 {
            *rows.entry((component, action, unit.0.to_bits())).or_insert(0) += count;
        }
    };
    let mut executions = vec![0u64; placement.nodes.len()];
    for node in &placement.node_of {
        executions[*node as usize] += 1;
    }
    for ((node, cost), count) in placement.nodes.iter().zip(&costs.nodes).zip(executions) {
        let cost = &cost.cost;
        add(Component::Array(node.core), Action::Operate, cost.operation_energy, cost.operations * count);
        let kind = accelerator.kind(node.core);
        for access in &cost.accesses {
            let (component, memory) = match kind.memories.get(access.memory) {
                Some(memory) => (Component::Memory(node.core, access.memory as u32), memory),
                None => {
                    let dram = routes.serving_dram(node.core);
                    let pool = accelerator.pool(dram);
                    (Component::Memory(pool.core, pool.memory as u32), accelerator.memory(dram))
                }
            };
            match access.direction.is_read() {
                true => add(component, Action::Read, memory.read_cost, access.words * count),
                false => add(component, Action::Write, memory.write_cost, access.words * count),
            }
        }
    }
    for (index, pool) in accelerator.pools.iter().enumerate() {
        let id = PoolId::from(index);
        let component = Component::Memory(pool.core, pool.memory as u32);
        let memory = accelerator.memory(id);
        let read = memory.read_cost * narrow(accelerator.port(id, pool.read_port));
        let write = memory.write_cost * narrow(accelerator.port(id, pool.write_port));
        add(component, Action::Send, read, traffic.read_words[index]);
        add(component, Action::Receive, write, traffic.write_words[index]);
    }
    for (index, resource) in accelerator.resources.iter().enumerate() {
        let (ResourceKind::Link { link, .. } | ResourceKind::Bus { link }) = resource.kind else { continue };
        let id = ResourceId::from(index);
        match accelerator.links[link as usize].energy {
            LinkEnergy::PerCycle(unit) => {
                add(Component::Link(link), Action::Traverse, unit, traffic.active[id.index()].0);
            }
            LinkEnergy::PerBit(unit) => {
                add(Component::Link(link), Action::Traverse, unit, traffic.bits[id.index()].0);
            }
        }
    }
    let rows = (rows.into_iter())
        .map(|((component, action, unit), count)| LedgerRow {
            component,
            action,
            count,
            unit: Picojoules(f64::from_bits(unit)),
        })
        .filter(|row| row.unit.0 != 0.0)
        .collect();
    Ledger { rows }
}

/// Share of a full word that a narrow word costs: `bandwidth_min / bandwidth_max`.
fn narrow(port: Option<&Port>) -> f64 {
    port.map_or(1.0, |port| port.bandwidth_min.0 as f64 / port.bandwidth_max.0 as f64)
}
