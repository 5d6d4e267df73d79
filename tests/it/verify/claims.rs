//! Changes to totals, energy and bounds.

use super::fixture::*;
use super::{found, only};
use millstream::ids::*;
use millstream::ledger::{Action, Component};
use millstream::schedule::Schedule;
use millstream::units::{Cycles, Picojoules};
use millstream::verify::{Figure, Violation};

type Change = fn(&mut Schedule);

#[test]
fn every_total_off_by_one() {
    let changes: [(Change, Figure); 13] = [
        (|schedule| schedule.latency.0 += 1, Figure::Latency),
        (|schedule| schedule.why.memory += 1, Figure::Why),
        (|schedule| schedule.transfers += 1, Figure::Transfers),
        (|schedule| schedule.busy[0].0 -= 1, Figure::Busy(CoreId(0))),
        (|schedule| schedule.peak[1].0 -= 1, Figure::Peak(PoolId(1))),
        (|schedule| schedule.traffic.read_words[2] += 1, Figure::ReadWords(PoolId(2))),
        (|schedule| schedule.traffic.write_words[1] -= 1, Figure::WriteWords(PoolId(1))),
        (|schedule| schedule.traffic.active[2].0 += 1, Figure::Active(ResourceId(2))),
        (|schedule| schedule.traffic.active[7].0 += 1, Figure::Active(ResourceId(7))),
        (|schedule| schedule.traffic.bits[0].0 += 1, Figure::Moved(ResourceId(0))),
        (|schedule| schedule.cns[1].admitted.0 += 1, Figure::Admitted(CnId(1))),
        (|schedule| schedule.cns[2].start.0 += 1, Figure::Start(CnId(2))),
        (|schedule| schedule.cns[3].end.0 += 1, Figure::End(CnId(3))),
    ];
    for (change, expected) in changes {
        let mut fixture = two_layers();
        change(&mut fixture.schedule);
        let violations = fixture.check().violations;
        assert!(
            matches!(violations.as_slice(), [Violation::Total { figure, .. }] if *figure == expected),
            "{expected}: {violations:?}"
        );
    }
}

#[test]
fn a_latency_without_the_last_write() {
    let mut fixture = two_layers();
    fixture.schedule.latency = Cycles(33);
    found!(fixture, Violation::Total { figure: Figure::Latency, claimed: 33, derived: 37 });
}

#[test]
fn a_release_before_the_inputs_are_made_or_after_the_admission() {
    for released in [15, 17] {
        let mut fixture = two_layers();
        fixture.schedule.cns[2].released = Cycles(released);
        only!(fixture, Violation::Released { cn: CnId(2), made: Cycles(16), admitted: Cycles(16), .. });
    }
}

#[test]
fn a_count_of_the_ledger_off_by_one() {
    for row in 0..two_layers().ledger.rows.len() {
        let mut fixture = two_layers();
        let changed = &mut fixture.ledger.rows[row];
        changed.count += 1;
        let (component, action, unit) = (changed.component, changed.action, changed.unit);
        let (claimed, derived) = (changed.count, changed.count - 1);
        let expected = Violation::Energy { component, action, unit, claimed, derived };
        assert_eq!(fixture.check().violations, [expected]);
    }
}

#[test]
fn a_unit_of_the_ledger_that_is_not_the_hardwares() {
    let mut fixture = two_layers();
    fixture.ledger.rows[4].unit = Picojoules(4.0);
    // The narrow word is charged as a full one: that row is too much, the right one is missing.
    found!(
        fixture,
        Violation::Energy {
            component: Component::Memory(CoreId(0), 0), action: Action::Send, unit, claimed: 8, derived: 0
        } if unit.0 == 4.0
    );
    found!(fixture, Violation::Energy { action: Action::Send, claimed: 0, derived: 8, .. });
}

#[test]
fn energy_that_is_left_out_or_charged_twice() {
    let mut fixture = two_layers();
    fixture.ledger.rows.remove(13);
    only!(fixture, Violation::Energy { component: Component::Link(1), claimed: 0, derived: 144, .. });
    let mut fixture = two_layers();
    let row = fixture.ledger.rows[10];
    fixture.ledger.rows.push(row);
    only!(fixture, Violation::Energy { action: Action::Send, claimed: 22, derived: 11, .. });
}

#[test]
fn accesses_of_a_stream_charged_at_its_ends() {
    let mut fixture = streams();
    fixture.schedule.traffic.read_words[2] += 10;
    fixture.ledger.rows[4].count += 10;
    only!(
        fixture,
        Violation::Total { figure: Figure::ReadWords(PoolId(2)), claimed: 12, derived: 2 },
        Violation::Energy { action: Action::Send, claimed: 12, derived: 2, .. }
    );
}

#[test]
fn values_below_their_bounds() {
    let mut fixture = two_layers();
    fixture.bound = Some((Cycles(38), Picojoules::ZERO));
    only!(fixture, Violation::LatencyBound { latency: Cycles(37), bound: Cycles(38) });
    // 8 + 7 + 48 + 64 + 8 + 22 + 48 + 64 + 7 + 20 + 55 + 42 + 24 + 36
    let mut fixture = two_layers();
    assert_eq!(fixture.ledger.total(), Picojoules(453.0));
    fixture.bound = Some((Cycles(37), Picojoules(453.0)));
    assert!(fixture.check().is_clean());
    fixture.bound = Some((Cycles(37), Picojoules(453.1)));
    only!(fixture, Violation::EnergyBound { .. });
}

#[test]
fn a_schedule_without_a_log() {
    let mut fixture = two_layers();
    fixture.schedule.log = None;
    only!(fixture, Violation::NoLog);
}
