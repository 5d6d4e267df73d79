//! Schedules of the simulation replay without violations.

use super::fixture::*;
use millstream::accelerator::route::Routes;
use millstream::ledger::book;
use millstream::schedule::{Case, Contention, Record, simulate};

/// Simulates the fixture's inputs and replaces its claims.
pub fn simulated(mut fixture: Fixture) -> Fixture {
    let routes = Routes::new(&fixture.accelerator);
    let case = Case {
        workload: &fixture.workload,
        accelerator: &fixture.accelerator,
        routes: &routes,
        graph: &fixture.graph,
        candidate: &fixture.candidate,
        placement: &fixture.placement,
        costs: &fixture.costs,
        options: &fixture.options,
    };
    let schedule = simulate(&case, Record::Full).unwrap();
    let ledger = book(&fixture.accelerator, &routes, &fixture.placement, &fixture.costs, &schedule.traffic);
    fixture.ledger = ledger;
    fixture.schedule = schedule;
    fixture.bound = None;
    fixture
}

#[test]
fn simulations_of_the_fixtures() {
    for fixture in [two_layers(), streams()] {
        let report = simulated(fixture).check();
        assert!(report.is_clean(), "{report}");
    }
}

fn check_chain(layers: usize, size: u64, tile: u64, pool: u64) {
    for (prefetch, contention) in
        [0, 1, 3].into_iter().flat_map(|n| [(n, Contention::Exclusive), (n, Contention::Fair)])
    {
        let mut fixture = chain(layers, size, tile, pool);
        fixture.options.prefetch = prefetch;
        fixture.options.contention = contention;
        let report = simulated(fixture).check();
        assert!(report.is_clean(), "{layers} layers of {size} by {tile} in {pool}: {report}");
    }
}

#[test]
fn simulations_of_chains_with_ample_memory() {
    check_chain(4, 64, 4, 1 << 20);
    check_chain(10, 2_000, 2, 1 << 20);
}

#[test]
fn simulations_of_chains_with_scarce_memory() {
    check_chain(4, 64, 4, 400);
    check_chain(6, 200, 7, 600);
    check_chain(10, 1_000, 2, 400);
}

#[test]
fn simulations_of_chains_with_streams() {
    check_chain(5, 90, 90, 500);
    check_chain(4, 64, 8, 150);
}

#[test]
fn simulations_that_spill_outputs() {
    check_chain(3, 100, 1, 100);
}
