//! Changes to the lives of CNs.

use super::events::*;
use super::fixture::*;
use super::{found, only};
use millstream::ids::*;
use millstream::schedule::log::{Event, Purpose};
use millstream::units::Cycles;
use millstream::verify::{State, Step, Violation};

fn starts(cn: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Start { cn: id, .. } if id.0 == cn)
}

fn ends(cn: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::End { cn: id, .. } if id.0 == cn)
}

fn admits(cn: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Admit { cn: id, .. } if id.0 == cn)
}

/// Moves an event to another time, behind the events there.
fn shift(fixture: &mut Fixture, which: impl Fn(&Event) -> bool, to: u64) {
    let mut event = fixture.remove(which);
    let (Event::Admit { time, .. } | Event::Start { time, .. } | Event::End { time, .. }) = &mut event else {
        panic!("{event:?}")
    };
    *time = Cycles(to);
    fixture.insert(event);
}

#[test]
fn a_start_one_cycle_before_the_last_input_arrives() {
    let mut fixture = two_layers();
    shift(&mut fixture, starts(2), 20);
    found!(
        fixture,
        Violation::InputMissing {
            cn: CnId(2),
            operand: 1,
            fragment: FragmentId(5),
            pool: PoolId(1),
            time: Cycles(20)
        }
    );
}

#[test]
fn an_end_one_cycle_early_and_one_late() {
    for end in [10, 12] {
        let mut fixture = two_layers();
        shift(&mut fixture, ends(0), end);
        found!(
            fixture,
            Violation::Duration { cn: CnId(0), start: Cycles(6), end: Cycles(e), expected: Cycles(11) } if *e == end
        );
    }
}

#[test]
fn a_start_later_than_claimed_lengthens_nothing() {
    let mut fixture = two_layers();
    shift(&mut fixture, starts(2), 22);
    found!(fixture, Violation::Duration { cn: CnId(2), expected: Cycles(28), .. });
}

#[test]
fn two_cns_at_once_on_a_core() {
    let mut fixture = two_layers();
    shift(&mut fixture, starts(3), 26);
    found!(fixture, Violation::CoreBusy { core: CoreId(1), cn: CnId(3), time: Cycles(26), running: CnId(2) });
}

#[test]
fn a_cn_that_executes_twice() {
    let mut fixture = two_layers();
    fixture.insert(admit(33, 0, &[(0, 64)]));
    fixture.insert(start(33, 0));
    fixture.insert(end(38, 0));
    for step in [Step::Admission, Step::Start, Step::End] {
        found!(
            fixture,
            Violation::Life { cn: CnId(0), step: s, state: State::Done, .. } if *s == step
        );
    }
}

#[test]
fn a_start_without_admission() {
    let mut fixture = two_layers();
    fixture.remove(admits(3));
    found!(
        fixture,
        Violation::Life { cn: CnId(3), step: Step::Start, time: Cycles(27), state: State::Waiting }
    );
}

#[test]
fn a_cn_that_never_ends() {
    let mut fixture = two_layers();
    fixture.remove(ends(3));
    found!(fixture, Violation::Unfinished { cn: CnId(3), state: State::Running });
}

#[test]
fn an_admission_before_the_producer_ends() {
    let mut fixture = two_layers();
    shift(&mut fixture, admits(2), 15);
    // Fragment 4 is made by cn0, which ended at 11; fragment 5 by cn1, which ends at 16.
    found!(
        fixture,
        Violation::Precedence { cn: CnId(2), producer: CnId(1), fragment: FragmentId(5), time: Cycles(15) }
    );
    assert!(
        !fixture
            .check()
            .violations
            .iter()
            .any(|violation| matches!(violation, Violation::Precedence { fragment: FragmentId(4), .. }))
    );
}

#[test]
fn more_admissions_than_slots() {
    let mut fixture = two_layers();
    fixture.options.prefetch = 0;
    found!(
        fixture,
        Violation::Slots { core: CoreId(0), cn: CnId(1), time: Cycles(0), admitted: 2, slots: 1 }
    );
    let mut fixture = two_layers();
    fixture.accelerator.kinds[0].no_overlap = true;
    found!(fixture, Violation::Slots { cn: CnId(3), slots: 1, .. });
}

#[test]
fn an_admission_beyond_the_slots_with_all_inputs_present_is_legal() {
    let mut fixture = two_layers();
    fixture.options.prefetch = 0;
    shift(&mut fixture, admits(3), 24);
    let violations = fixture.check().violations;
    assert!(!violations.iter().any(|found| matches!(found, Violation::Slots { cn: CnId(3), .. })));
    // Its input was fetched before, though.
    assert!(violations.iter().any(|found| matches!(
        found,
        Violation::FetchUnadmitted { fragment: FragmentId(6), cn: CnId(3), time: Cycles(16) }
    )));
}

#[test]
fn time_that_runs_backwards() {
    let mut fixture = two_layers();
    fixture.log().swap(10, 11);
    only!(fixture, Violation::TimeBackwards { event: 11, time: Cycles(6), before: Cycles(8) });
}

#[test]
fn events_that_name_what_does_not_exist() {
    for event in [
        start(40, 4),
        admit(40, 0, &[(3, 1)]),
        leave(40, 9, 0),
        request(40, 0, 3, 0, Purpose::Fetch),
        transfer(9, 0, (Some(0), 32, Purpose::Fetch), (2, &[0, 3]), (38, 42), &[(38, 40)]),
    ] {
        let mut fixture = two_layers();
        fixture.log().push(event);
        only!(fixture, Violation::Unknown { event: 44, .. });
    }
}
