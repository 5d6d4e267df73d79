//! The expected order: the position of every CN in one list schedule with the Candidate's priority,
//! ideal cycles, and neither transfers nor capacities (Rule (expected order)).
//!
//! Next use, prefetch and live sets mean this position; the simulation itself may run CNs otherwise.

use super::{Case, priority_key};
use crate::ids::{CnId, FragmentId};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Positions of all CNs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedOrder {
    /// Position per CN.
    pub position: Vec<u32>,
    /// CNs of each core in expected order.
    pub by_core: Vec<Vec<CnId>>,
    /// Position of each CN in its core's list.
    pub index_on_core: Vec<u32>,
}

/// Activation fragments each CN waits for, counted per operand, and whether it waits at all.
pub fn pending_reads(case: &Case) -> Vec<u32> {
    let graph = case.graph;
    let mut pending = vec![0; graph.cns()];
    for fragment in (0..graph.fragments()).map(FragmentId::from) {
        if graph.producer(fragment).is_some() {
            for (cn, _) in graph.readers(fragment) {
                pending[cn.index()] += 1;
            }
        }
    }
    pending
}

/// Runs the list schedule.
pub fn expected_order(case: &Case, pending: &[u32]) -> ExpectedOrder {
    let mut pending = pending.to_vec();
    let cores = case.accelerator.cores.len();
    let mut order = ExpectedOrder {
        position: vec![0; pending.len()],
        by_core: vec![Vec::new(); cores],
        index_on_core: vec![0; pending.len()],
    };
    let mut ready: Vec<BTreeSet<(u64, CnId)>> = vec![BTreeSet::new(); cores];
    let mut idle = vec![true; cores];
    let mut ends: BinaryHeap<Reverse<(u64, CnId)>> = BinaryHeap::new();
    for cn in (0..pending.len()).map(CnId::from) {
        if pending[cn.index()] == 0 {
            ready[case.placement.core(cn).index()].insert((priority_key(case, cn, 0), cn));
        }
    }
    let mut now = 0;
    let mut position = 0;
    loop {
        for core in 0..cores {
            if idle[core]
                && let Some((_, cn)) = ready[core].pop_first()
            {
                idle[core] = false;
                order.position[cn.index()] = position;
                order.index_on_core[cn.index()] = order.by_core[core].len() as u32;
                order.by_core[core].push(cn);
                position += 1;
                let node = case.placement.node_of[cn.index()] as usize;
                ends.push(Reverse((now + case.costs.nodes[node].cost.ideal.ceil().0.max(1), cn)));
            }
        }
        let Some(Reverse((time, _))) = ends.peek() else { break };
        now = *time;
        while let Some(Reverse((time, cn))) = ends.peek().copied()
            && time == now
        {
            ends.pop();
            idle[case.placement.core(cn).index()] = true;
            for fragment in case.graph.outputs(cn) {
                for (reader, _) in case.graph.readers(fragment) {
                    pending[reader.index()] -= 1;
                    if pending[reader.index()] == 0 {
                        let core = case.placement.core(reader).index();
                        ready[core].insert((priority_key(case, reader, now), reader));
                    }
                }
            }
        }
    }
    order
}
