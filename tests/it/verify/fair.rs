//! Rates under fair sharing: a legal execution, and illegal changes of it.

use super::fixture::*;
use super::simulated::simulated;
use super::{found, only};
use millstream::ids::TransferId;
use millstream::schedule::log::Event;
use millstream::schedule::{Contention, RATE_UNITS};
use millstream::units::Cycles;
use millstream::verify::{Figure, Violation};

fn fair() -> Fixture {
    let mut fixture = two_layers();
    fixture.options.contention = Contention::Fair;
    simulated(fixture)
}

/// Segments and rates of a transfer.
fn of(fixture: &mut Fixture, id: u32) -> (&mut Vec<(Cycles, Cycles)>, &mut Vec<u64>) {
    let event = fixture
        .event(|event| matches!(event, Event::Transfer { transfer, .. } if *transfer == TransferId(id)));
    match event {
        Event::Transfer { segments, rates, .. } => (segments, rates),
        _ => unreachable!(),
    }
}

/// DRAM has 16 bits a cycle for 32 bits and more to core 0 and 16 to core 1: 8 each until those have
/// moved, then all 16.
#[test]
fn two_destinations_share_a_port() {
    let mut fixture = fair();
    assert!(fixture.check().is_clean());
    let (segments, rates) = of(&mut fixture, 0);
    assert_eq!(*segments, [(Cycles(0), Cycles(2)), (Cycles(2), Cycles(3))]);
    assert_eq!(*rates, [8 * RATE_UNITS, 16 * RATE_UNITS]);
}

#[test]
fn a_rate_above_its_share() {
    let mut fixture = fair();
    of(&mut fixture, 0).1[0] += 1;
    found!(fixture, Violation::Share { transfer: TransferId(0), .. });
    found!(fixture, Violation::Bandwidth { .. });
}

#[test]
fn a_rate_below_its_share() {
    let mut fixture = fair();
    of(&mut fixture, 0).1[0] -= 1;
    found!(fixture, Violation::Share { transfer: TransferId(0), .. });
    found!(fixture, Violation::RatesAmount { .. });
}

#[test]
fn a_missing_rate() {
    let mut fixture = fair();
    of(&mut fixture, 0).1.clear();
    found!(fixture, Violation::Segments { transfer: TransferId(0) });
}

#[test]
fn a_flow_that_keeps_its_way_a_cycle_longer() {
    let mut fixture = fair();
    of(&mut fixture, 0).0[1].1.0 += 1;
    found!(fixture, Violation::RatesAmount { transfer: TransferId(0), .. });
    found!(fixture, Violation::Arrival { transfer: TransferId(0), .. });
}

#[test]
fn two_flows_of_one_way_at_once() {
    let mut fixture = fair();
    let others: Vec<u32> = (1..4).collect();
    // One of the other flows to core 0, issued at 0 too, begins with the first.
    let second = others.into_iter().find(|id| of(&mut fixture, *id).0[0].0.0 > 0).unwrap();
    of(&mut fixture, second).0[0].0.0 = 0;
    found!(fixture, Violation::BundleTwice { .. });
}

#[test]
fn a_flow_that_waits_although_its_way_is_free() {
    let mut fixture = fair();
    of(&mut fixture, 0).0[0].0.0 = 1;
    found!(fixture, Violation::Share { claimed: 0, .. });
}

#[test]
fn rates_under_exclusive_contention() {
    let mut fixture = two_layers();
    of(&mut fixture, 0).1.push(8 * RATE_UNITS);
    only!(fixture, Violation::Segments { transfer: TransferId(0) });
}

#[test]
fn an_active_cycle_counted_for_each_flow() {
    let mut fixture = fair();
    fixture.schedule.traffic.active[7].0 += 1;
    found!(fixture, Violation::Total { figure: Figure::Active(_), .. });
}
