//! Changes to transfers: sources, routes, rates, packets, streams.

use super::events::*;
use super::fixture::*;
use super::{found, only};
use millstream::accelerator::ResourceKind;
use millstream::ids::*;
use millstream::schedule::log::Purpose::{Fetch, StreamIn, StreamOut};
use millstream::schedule::log::{Event, Purpose};
use millstream::units::{Bits, Cycles};
use millstream::verify::Violation;

fn transfers(id: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Transfer { transfer, .. } if transfer.0 == id)
}

/// A fixture with another transfer of the same number.
fn changed(mut fixture: Fixture, id: u32, transfer: Event) -> Fixture {
    fixture.remove(transfers(id));
    fixture.insert(transfer);
    fixture
}

/// Two layers with other segments and arrival of transfer 4: 32 bits over the link from 16 to 20.
fn fourth(arrival: u64, segments: &[(u64, u64)]) -> Fixture {
    let mut fixture = two_layers();
    *fixture.event(transfers(4)) = transfer(4, 2, (Some(4), 32, Fetch), (0, &[1]), (16, arrival), segments);
    fixture
}

#[test]
fn a_number_used_twice() {
    let mut fixture = two_layers();
    let Event::Transfer { transfer, .. } = fixture.event(transfers(8)) else { panic!() };
    *transfer = TransferId(7);
    only!(fixture, Violation::TransferTwice { transfer: TransferId(7) });
}

#[test]
fn purpose_and_contents_that_do_not_go_together() {
    let way: (u32, &[u32]) = (0, &[1]);
    let segments = [(16, 20)];
    for (what, to) in [
        ((None, 32, Fetch), way),
        ((Some(4), 32, StreamIn), way),
        ((Some(4), 32, Fetch), (0, &[][..])),
        ((Some(4), 32, Fetch), (0, &[1, 1][..])),
        ((Some(4), 32, Purpose::Store), way),
        ((Some(4), 0, Fetch), way),
    ] {
        let fixture = changed(two_layers(), 4, transfer(4, 2, what, to, (16, 20), &segments));
        found!(fixture, Violation::TransferForm { transfer: TransferId(4), time: Cycles(20) });
    }
}

#[test]
fn a_transfer_nobody_asked_for() {
    let mut fixture = two_layers();
    fixture.remove(|event| matches!(event, Event::Request { fragment: FragmentId(3), to: PoolId(1), .. }));
    found!(
        fixture,
        Violation::Unrequested { transfer: TransferId(1), fragment: FragmentId(3), pool: PoolId(1), .. }
    );
    // Asked for at 16, issued at 15.
    let early = transfer(6, 3, (Some(6), 24, Fetch), (0, &[1]), (15, 24), &[(21, 24)]);
    let mut fixture = two_layers();
    *fixture.event(transfers(6)) = early;
    only!(fixture, Violation::Unrequested { transfer: TransferId(6), issued: Cycles(15), .. });
}

#[test]
fn a_transfer_issued_after_its_requests_for_no_reason() {
    let late = transfer(1, 0, (Some(3), 16, Fetch), (2, &[0, 1]), (1, 4), &[(1, 2)]);
    let mut fixture = two_layers();
    *fixture.event(transfers(1)) = late;
    only!(
        fixture,
        Violation::Waited {
            transfer: TransferId(1),
            fragment: FragmentId(3),
            pool: PoolId(0),
            requested: Cycles(0),
            issued: Cycles(1)
        },
        Violation::Waited { pool: PoolId(1), .. }
    );
}

#[test]
fn a_request_that_waits_for_a_copy_in_flight() {
    // Pool 1 waits for the weights to arrive in pool 0 at 4, and takes them from there: 2 cycles
    // over the link. Only the totals of the schedule are then others.
    for (issued, segment) in [(4, (4, 6)), (5, (5, 7))] {
        let mut fixture = two_layers();
        *fixture.event(transfers(1)) = transfer(1, 0, (Some(3), 16, Fetch), (2, &[0]), (0, 4), &[(1, 2)]);
        let (what, way) = ((Some(3), 16, Purpose::Prefetch), (0, &[1][..]));
        fixture.insert(transfer(9, 2, what, way, (issued, segment.1), &[segment]));
        let report = fixture.check();
        let waited = |violation: &Violation| matches!(violation, Violation::Waited { .. });
        let totals =
            |violation: &Violation| matches!(violation, Violation::Total { .. } | Violation::Energy { .. });
        assert_eq!(report.violations.iter().any(waited), issued == 5, "{report}");
        assert!(report.violations.iter().all(|found| waited(found) || totals(found)), "{report}");
    }
}

#[test]
fn a_source_that_does_not_hold_the_fragment() {
    // Activations are not in DRAM.
    let stray = transfer(4, 2, (Some(4), 32, Fetch), (2, &[1]), (16, 20), &[(16, 18)]);
    let fixture = changed(two_layers(), 4, stray);
    found!(
        fixture,
        Violation::SourceAbsent { transfer: TransferId(4), fragment: FragmentId(4), pool: PoolId(2), .. }
    );
}

#[test]
fn a_source_dropped_one_cycle_before_it_is_read() {
    let mut fixture = two_layers();
    fixture.remove(|event| matches!(event, Event::Drop { fragment: FragmentId(4), pool: PoolId(0), .. }));
    fixture.insert(leave(19, 4, 0));
    found!(fixture, Violation::SourceAbsent { start: Cycles(16), end: Cycles(20), .. });
}

#[test]
fn a_source_read_before_it_is_made() {
    let early = transfer(6, 3, (Some(6), 24, Fetch), (0, &[1]), (16, 24), &[(15, 17), (23, 24)]);
    let fixture = changed(two_layers(), 6, early);
    found!(fixture, Violation::SourceAbsent { fragment: FragmentId(6), start: Cycles(15), .. });
    found!(fixture, Violation::BeforeIssue { issued: Cycles(16), start: Cycles(15), .. });
}

#[test]
fn an_amount_that_is_not_the_fragment() {
    let less = transfer(4, 2, (Some(4), 31, Fetch), (0, &[1]), (16, 20), &[(16, 20)]);
    let fixture = changed(two_layers(), 4, less);
    found!(fixture, Violation::Amount { transfer: TransferId(4), claimed: Bits(31), derived: Bits(32) });
}

#[test]
fn a_transfer_without_a_route() {
    // The link leads from core 1 to core 0 only, and core 1 is not on the bus.
    let mut fixture = two_layers();
    fixture.accelerator.resources[0].kind = ResourceKind::Link { link: 0, forward: false };
    fixture.accelerator.links[1].cores.remove(1);
    found!(fixture, Violation::NoRoute { transfer: TransferId(4), from: PoolId(0), to: PoolId(1) });
}

#[test]
fn a_route_through_another_link() {
    // Without the bus, stores of core 1 pass core 0: more resources, and the slow link.
    let mut fixture = two_layers();
    fixture.accelerator.links[1].cores.remove(1);
    found!(
        fixture,
        Violation::Rate { transfer: TransferId(7), claimed: Cycles(2), derived: Cycles(4), rate: 8, .. }
    );
    found!(fixture, Violation::Total { .. });
}

#[test]
fn segments_that_are_none() {
    for segments in [&[][..], &[(16, 16), (16, 20)], &[(18, 20), (16, 18)]] {
        found!(fourth(20, segments), Violation::Segments { transfer: TransferId(4) });
    }
}

#[test]
fn a_flow_faster_or_slower_than_its_narrowest_resource() {
    found!(
        fourth(19, &[(16, 19)]),
        Violation::Rate {
            claimed: Cycles(3),
            derived: Cycles(4),
            bits: Bits(32),
            packet: Bits(16),
            rate: 8,
            ..
        }
    );
    found!(fourth(21, &[(16, 21)]), Violation::Rate { claimed: Cycles(5), derived: Cycles(4), .. });
}

#[test]
fn a_narrower_link() {
    let mut fixture = two_layers();
    fixture.accelerator.resources[0].bandwidth.0 = 4;
    found!(fixture, Violation::Rate { claimed: Cycles(4), derived: Cycles(8), rate: 4, .. });
}

#[test]
fn a_flow_interrupted_between_packets_only() {
    assert!(fourth(20, &[(16, 18), (18, 20)]).check().is_clean());
    only!(
        fourth(20, &[(16, 17), (17, 20)]),
        Violation::WithinPacket { transfer: TransferId(4), time: Cycles(17), packet: Cycles(2) }
    );
}

#[test]
fn an_arrival_without_the_latency_of_the_route() {
    let early = transfer(3, 1, (Some(2), 32, Fetch), (2, &[0]), (0, 7), &[(4, 6)]);
    let fixture = changed(two_layers(), 3, early);
    only!(fixture, Violation::Arrival { transfer: TransferId(3), claimed: Cycles(7), derived: Cycles(8) });
}

#[test]
fn two_flows_at_once_on_a_link() {
    let early = transfer(5, 2, (Some(5), 8, Fetch), (0, &[1]), (16, 20), &[(19, 20)]);
    let fixture = changed(two_layers(), 5, early);
    found!(
        fixture,
        Violation::Contention {
            resource: ResourceId(0),
            first: TransferId(4),
            second: TransferId(5),
            time: Cycles(19)
        }
    );
}

#[test]
fn a_stream_nobody_needs() {
    let mut fixture = streams();
    fixture.insert(transfer(3, 0, (None, 80, StreamIn), (2, &[0]), (3, 13), &[(6, 11)]));
    found!(fixture, Violation::StreamUnexpected { transfer: TransferId(3), cn: CnId(0), time: Cycles(13) });
    // Beside cn3, which keeps all its operands.
    let mut fixture = two_layers();
    fixture.insert(transfer(9, 3, (None, 16, StreamIn), (2, &[1]), (27, 32), &[(29, 30)]));
    found!(fixture, Violation::StreamUnexpected { transfer: TransferId(9), cn: CnId(3), .. });
}

#[test]
fn a_stream_of_another_amount_time_or_way() {
    let less = transfer(1, 0, (None, 79, StreamIn), (2, &[0]), (3, 10), &[(3, 8)]);
    let fixture = changed(streams(), 1, less);
    found!(fixture, Violation::Amount { claimed: Bits(79), derived: Bits(80), .. });

    let late = transfer(1, 0, (None, 80, StreamIn), (2, &[0]), (2, 10), &[(3, 8)]);
    let fixture = changed(streams(), 1, late);
    only!(fixture, Violation::StreamIssue { cn: CnId(0), issued: Cycles(2), start: Cycles(3), .. });

    let stray = transfer(1, 0, (None, 80, StreamIn), (2, &[1]), (3, 10), &[(3, 8)]);
    let fixture = changed(streams(), 1, stray);
    found!(fixture, Violation::StreamUnexpected { transfer: TransferId(1), .. });
}

#[test]
fn a_stream_that_is_missing() {
    let mut fixture = streams();
    fixture.remove(transfers(2));
    found!(fixture, Violation::StreamMissing { cn: CnId(0), time: Cycles(14), missing: Bits(64) });
    // The output arrives at 15, the CN ended at 14.
    let late = transfer(2, 0, (None, 64, StreamOut), (0, &[2]), (3, 15), &[(9, 13)]);
    let fixture = changed(streams(), 2, late);
    found!(fixture, Violation::StreamMissing { time: Cycles(14), missing: Bits(64), .. });
}

#[test]
fn an_end_before_and_after_the_last_stream() {
    let mut fixture = streams();
    let early = transfer(2, 0, (None, 64, StreamOut), (0, &[2]), (3, 13), &[(7, 11)]);
    let fast = transfer(1, 0, (None, 80, StreamIn), (2, &[0]), (3, 9), &[(2, 7)]);
    fixture = changed(changed(fixture, 1, fast), 2, early);
    found!(
        fixture,
        Violation::Duration { cn: CnId(0), start: Cycles(3), end: Cycles(14), expected: Cycles(13) }
    );
}
