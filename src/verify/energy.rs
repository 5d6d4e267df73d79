//! The ledger against executions, costs and transfers of the log.
//!
//! ```text
//! array of a core        operations of its CNs' costs
//! memory, read / write   full words of its CNs' costs; the level above a core's own is its DRAM
//! memory, send / receive narrow words of transfers, each bandwidth_min / bandwidth_max of a full one
//! link, traverse         active cycles or bits of its resources
//! ```

use super::{Case, Claims, Report, Violation};
use crate::accelerator::{LinkEnergy, ResourceKind};
use crate::ids::{PoolId, ResourceId};
use crate::ledger::{Action, Component};
use crate::schedule::Traffic;
use crate::units::Picojoules;
use std::collections::BTreeMap;

/// Counts by component, action and the bit pattern of the unit energy: equal units are equal bits.
type Counts = BTreeMap<(Component, Action, u64), u64>;

/// Compares the ledger with the derived one, row by row.
pub(super) fn check(case: &Case<'_>, claims: &Claims<'_>, traffic: &Traffic, report: &mut Report) {
    let mut derived = Counts::new();
    count_executions(case, &mut derived);
    count_words(case, traffic, &mut derived);
    count_links(case, traffic, &mut derived);
    derived.retain(|(.., unit), count| *count > 0 && f64::from_bits(*unit) != 0.0);
    let mut claimed = Counts::new();
    for row in &claims.ledger.rows {
        add(&mut claimed, row.component, row.action, row.unit, row.count);
    }
    report.checked.rows = claims.ledger.rows.len() as u64;
    let keys = claimed.keys().chain(derived.keys().filter(|key| !claimed.contains_key(key)));
    for key in keys {
        let count = |counts: &Counts| counts.get(key).copied().unwrap_or(0);
        let (claimed, derived) = (count(&claimed), count(&derived));
        if claimed != derived {
            let (component, action, unit) = (key.0, key.1, Picojoules(f64::from_bits(key.2)));
            report.add(Violation::Energy { component, action, unit, claimed, derived });
        }
    }
}

fn add(counts: &mut Counts, component: Component, action: Action, unit: Picojoules, count: u64) {
    let sum = counts.entry((component, action, unit.0.to_bits())).or_insert(0);
    *sum = sum.saturating_add(count);
}

/// Every CN executes once (the replay's law), at the cost of its node.
fn count_executions(case: &Case<'_>, counts: &mut Counts) {
    let mut executions = vec![0; case.placement.nodes.len()];
    for node in &case.placement.node_of {
        executions[*node as usize] += 1;
    }
    for (index, node) in case.placement.nodes.iter().enumerate() {
        let cost = &case.costs.nodes[index].cost;
        let times = executions[index];
        let array = Component::Array(node.core);
        add(counts, array, Action::Operate, cost.operation_energy, cost.operations * times);
        let memories = &case.accelerator.kind(node.core).memories;
        for access in &cost.accesses {
            let (component, memory) = match memories.get(access.memory) {
                Some(memory) => (Component::Memory(node.core, access.memory as u32), memory),
                None => memory_of(case, case.routes.serving_dram(node.core)),
            };
            let (action, unit) = match access.direction.is_read() {
                true => (Action::Read, memory.read_cost),
                false => (Action::Write, memory.write_cost),
            };
            add(counts, component, action, unit, access.words * times);
        }
    }
}

fn count_words(case: &Case<'_>, traffic: &Traffic, counts: &mut Counts) {
    for (index, pool) in case.accelerator.pools.iter().enumerate() {
        let id = PoolId::from(index);
        let (component, memory) = memory_of(case, id);
        let narrow = |port: ResourceId, full: Picojoules| match case.accelerator.port(id, port) {
            Some(port) => full * (port.bandwidth_min.0 as f64 / port.bandwidth_max.0 as f64),
            None => full,
        };
        let send = narrow(pool.read_port, memory.read_cost);
        let receive = narrow(pool.write_port, memory.write_cost);
        add(counts, component, Action::Send, send, traffic.read_words[index]);
        add(counts, component, Action::Receive, receive, traffic.write_words[index]);
    }
}

fn count_links(case: &Case<'_>, traffic: &Traffic, counts: &mut Counts) {
    for (index, resource) in case.accelerator.resources.iter().enumerate() {
        let link = match resource.kind {
            ResourceKind::Link { link, .. } | ResourceKind::Bus { link } => link,
            ResourceKind::Port { .. } => continue,
        };
        let (unit, count) = match case.accelerator.links[link as usize].energy {
            LinkEnergy::PerCycle(unit) => (unit, traffic.active[index].0),
            LinkEnergy::PerBit(unit) => (unit, traffic.bits[index].0),
        };
        add(counts, Component::Link(link), Action::Traverse, unit, count);
    }
}

fn memory_of<'a>(case: &Case<'a>, pool: PoolId) -> (Component, &'a crate::accelerator::Memory) {
    let at = case.accelerator.pool(pool);
    (Component::Memory(at.core, at.memory as u32), case.accelerator.memory(pool))
}
