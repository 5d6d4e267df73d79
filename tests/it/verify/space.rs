//! Changes to what pools hold: reservations, requests, drops.

use super::events::*;
use super::fixture::*;
use super::{found, only};
use millstream::ids::*;
use millstream::schedule::log::{Event, Purpose};
use millstream::units::{Bits, Cycles};
use millstream::verify::Violation;

fn admits(cn: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Admit { cn: id, .. } if id.0 == cn)
}

fn requests(what: u32, pool: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Request { fragment, to, .. } if (fragment.0, to.0) == (what, pool))
}

fn transfers(id: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Transfer { transfer, .. } if transfer.0 == id)
}

fn drops(what: u32, from: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Drop { fragment, pool, .. } if (fragment.0, pool.0) == (what, from))
}

/// Two layers with another request for a fragment in a pool.
fn requested(what: u32, pool: u32, request: Event) -> Fixture {
    let mut fixture = two_layers();
    fixture.remove(requests(what, pool));
    fixture.insert(request);
    fixture
}

#[test]
fn a_pool_one_bit_too_small() {
    let mut fixture = two_layers();
    fixture.accelerator.pools[0].size.0 = 215;
    only!(
        fixture,
        Violation::Capacity { pool: PoolId(0), time: Cycles(0), used: Bits(216), size: Bits(215) }
    );
    let mut fixture = two_layers();
    fixture.accelerator.pools[1].size.0 = 135;
    only!(
        fixture,
        Violation::Capacity { pool: PoolId(1), time: Cycles(16), used: Bits(136), size: Bits(135) },
        Violation::Capacity { pool: PoolId(1), time: Cycles(27), used: Bits(136), size: Bits(135) }
    );
}

#[test]
fn a_reservation_at_final_instead_of_partial_precision() {
    let mut fixture = two_layers();
    *fixture.event(admits(0)) = admit(0, 0, &[(0, 32)]);
    only!(
        fixture,
        Violation::Reservation { cn: CnId(0), pool: PoolId(0), claimed: Bits(32), derived: Bits(64) }
    );
}

#[test]
fn a_reservation_in_another_pool() {
    let mut fixture = two_layers();
    *fixture.event(admits(3)) = admit(16, 3, &[(0, 24)]);
    only!(
        fixture,
        Violation::Reservation { pool: PoolId(0), claimed: Bits(24), derived: Bits(0), .. },
        Violation::Reservation { pool: PoolId(1), claimed: Bits(0), derived: Bits(24), .. }
    );
}

#[test]
fn a_wrong_reservation_of_stream_tiles() {
    let mut fixture = streams();
    *fixture.event(admits(0)) = admit(0, 0, &[(0, 55)]);
    only!(fixture, Violation::Reservation { claimed: Bits(55), derived: Bits(56), .. });
    let mut fixture = streams();
    *fixture.event(admits(0)) = admit(0, 0, &[(0, 24), (0, 32)]);
    assert!(fixture.check().is_clean());
}

#[test]
fn a_request_for_what_is_there_or_on_its_way() {
    for time in [1, 12] {
        let mut fixture = two_layers();
        fixture.insert(request(time, 1, 0, 1, Purpose::Fetch));
        only!(fixture, Violation::AlreadyThere { fragment: FragmentId(1), pool: PoolId(0), .. });
    }
}

#[test]
fn a_fetch_to_a_pool_of_no_reader() {
    let fixture = requested(4, 1, request(16, 4, 1, 3, Purpose::Fetch));
    only!(
        fixture,
        Violation::NotAReader { fragment: FragmentId(4), pool: PoolId(1), cn: CnId(3), time: Cycles(16) }
    );
}

#[test]
fn a_fetch_for_a_cn_that_is_not_admitted() {
    let fixture = requested(3, 1, request(0, 3, 1, 2, Purpose::Fetch));
    only!(fixture, Violation::FetchUnadmitted { fragment: FragmentId(3), cn: CnId(2), time: Cycles(0) });
}

#[test]
fn a_prefetch_of_an_activation() {
    let fixture = requested(4, 1, request(16, 4, 1, 2, Purpose::Prefetch));
    only!(fixture, Violation::PrefetchOfActivation { fragment: FragmentId(4), time: Cycles(16) });
}

#[test]
fn a_prefetch_where_there_is_none() {
    let mut fixture = two_layers();
    fixture.options.prefetch = 0;
    found!(fixture, Violation::PrefetchOff { fragment: FragmentId(3), core: CoreId(1), time: Cycles(0) });
}

#[test]
fn a_write_back_to_a_pool_on_chip() {
    let mut fixture = requested(7, 2, request(27, 7, 0, 2, Purpose::Store));
    *fixture.event(transfers(7)) =
        transfer(7, 2, (Some(7), 32, Purpose::Store), (1, &[0]), (27, 31), &[(27, 29)]);
    found!(
        fixture,
        Violation::WriteBackOnChip { fragment: FragmentId(7), pool: PoolId(0), time: Cycles(27) }
    );
}

#[test]
fn a_request_for_a_stream() {
    let mut fixture = two_layers();
    fixture.insert(request(12, 0, 1, 2, Purpose::StreamIn));
    found!(fixture, Violation::StreamRequest { fragment: FragmentId(0), cn: CnId(2), time: Cycles(12) });
}

#[test]
fn a_request_without_a_transfer() {
    let mut fixture = two_layers();
    fixture.remove(transfers(8));
    found!(fixture, Violation::Unanswered { fragment: FragmentId(8), pool: PoolId(2), time: Cycles(33) });
    let mut fixture = two_layers();
    fixture.remove(transfers(3));
    found!(fixture, Violation::InputMissing { cn: CnId(1), fragment: FragmentId(2), .. });
}

#[test]
fn an_output_that_is_never_stored() {
    let mut fixture = two_layers();
    fixture.remove(requests(8, 2));
    fixture.remove(transfers(8));
    fixture.remove(drops(8, 1));
    found!(fixture, Violation::OutputMissing { fragment: FragmentId(8), tensor: TensorId(3) });
}

#[test]
fn a_drop_of_what_is_not_there() {
    for (time, fragment, pool) in [(12, 0, 0), (3, 0, 0), (12, 4, 1)] {
        let mut fixture = two_layers();
        fixture.insert(leave(time, fragment, pool));
        found!(fixture, Violation::DropAbsent { fragment: f, pool: p, .. } if (f.0, p.0) == (fragment, pool));
    }
}

#[test]
fn a_drop_of_a_copy_that_a_running_cn_reads() {
    let mut fixture = two_layers();
    fixture.remove(drops(5, 1));
    fixture.insert(leave(32, 5, 1));
    found!(fixture, Violation::DropPinned { fragment: FragmentId(5), pool: PoolId(1), time: Cycles(32) });
}

#[test]
fn a_drop_of_a_copy_that_an_admitted_cn_will_read() {
    let mut fixture = two_layers();
    // Fragment 1 is there from 6, cn1 reads it from 11.
    fixture.insert(leave(7, 1, 0));
    found!(fixture, Violation::DropPinned { fragment: FragmentId(1), pool: PoolId(0), time: Cycles(7) });
    found!(fixture, Violation::InputMissing { cn: CnId(1), fragment: FragmentId(1), .. });
}

#[test]
fn a_drop_of_the_only_copy_that_a_later_cn_needs() {
    let mut fixture = two_layers();
    fixture.insert(leave(12, 4, 0));
    found!(
        fixture,
        Violation::DropNeeded { fragment: FragmentId(4), pool: PoolId(0), time: Cycles(12), reads: 1 }
    );
}

#[test]
fn a_drop_of_one_of_two_copies_is_legal() {
    // The DRAM keeps the constant; pool 1 has it too. Nobody reads it in DRAM after 2.
    let mut fixture = two_layers();
    fixture.insert(leave(4, 3, 2));
    assert!(fixture.check().is_clean());
}

#[test]
fn a_drop_of_an_output_before_its_store_and_from_dram() {
    let mut fixture = two_layers();
    fixture.remove(drops(7, 1));
    fixture.insert(leave(29, 7, 1));
    // The last bit was read at 29, but it arrives at 31.
    only!(fixture, Violation::DropOutput { fragment: FragmentId(7), pool: PoolId(1), time: Cycles(29) });
    let mut fixture = two_layers();
    fixture.insert(leave(38, 7, 2));
    only!(
        fixture,
        Violation::DropOutput { fragment: FragmentId(7), pool: PoolId(2), time: Cycles(38) },
        Violation::OutputMissing { fragment: FragmentId(7), tensor: TensorId(3) }
    );
}

#[test]
fn a_drop_of_a_streamed_input() {
    let mut fixture = streams();
    fixture.insert(leave(1, 0, 2));
    found!(fixture, Violation::DropPinned { fragment: FragmentId(0), pool: PoolId(2), time: Cycles(1) });
    found!(
        fixture,
        Violation::StreamedInputMissing { cn: CnId(0), operand: 1, fragment: FragmentId(0), time: Cycles(3) }
    );
}
