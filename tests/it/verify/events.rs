//! Events of a log, from plain numbers.

use millstream::ids::*;
use millstream::schedule::log::{Event, Purpose};
use millstream::units::{Bits, Cycles};

pub fn time_of(event: &Event) -> Cycles {
    match event {
        Event::Admit { time, .. }
        | Event::Request { time, .. }
        | Event::Transfer { time, .. }
        | Event::Drop { time, .. }
        | Event::Start { time, .. }
        | Event::End { time, .. } => *time,
    }
}

pub fn admit(time: u64, cn: u32, reserved: &[(u32, u64)]) -> Event {
    let reserved = reserved.iter().map(|(pool, bits)| (PoolId(*pool), Bits(*bits))).collect();
    Event::Admit { time: Cycles(time), cn: CnId(cn), reserved }
}

pub fn request(time: u64, fragment: u32, to: u32, cn: u32, purpose: Purpose) -> Event {
    let (time, fragment, to, cn) = (Cycles(time), FragmentId(fragment), PoolId(to), CnId(cn));
    Event::Request { time, fragment, to, cn, purpose }
}

/// What moves: fragment, bits, purpose.
pub type What = (Option<u32>, u64, Purpose);

/// A transfer for a CN, `way` is (source, destinations), `at` (issue, arrival).
pub fn transfer(
    id: u32,
    cn: u32,
    what: What,
    way: (u32, &[u32]),
    at: (u64, u64),
    segments: &[(u64, u64)],
) -> Event {
    Event::Transfer {
        time: Cycles(at.1),
        transfer: TransferId(id),
        fragment: what.0.map(FragmentId),
        cn: CnId(cn),
        from: PoolId(way.0),
        to: way.1.iter().map(|pool| PoolId(*pool)).collect(),
        bits: Bits(what.1),
        issued: Cycles(at.0),
        segments: segments.iter().map(|(start, end)| (Cycles(*start), Cycles(*end))).collect(),
        rates: vec![],
        purpose: what.2,
    }
}

pub fn leave(time: u64, fragment: u32, pool: u32) -> Event {
    Event::Drop { time: Cycles(time), fragment: FragmentId(fragment), pool: PoolId(pool) }
}

pub fn start(time: u64, cn: u32) -> Event {
    Event::Start { time: Cycles(time), cn: CnId(cn) }
}

pub fn end(time: u64, cn: u32) -> Event {
    Event::End { time: Cycles(time), cn: CnId(cn) }
}
