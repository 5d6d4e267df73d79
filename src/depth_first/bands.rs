//! Columns (or rows) of tiles along one axis, and which of them are alike.
//!
//! By the reference's rules the remainder comes first, and sizes do not depend on the place
//! ([`geometry`](super::geometry)). With padding, tiles are balanced, and each is followed back by
//! intervals clipped to the maps: what a reader needs of a map, what earlier tiles have computed of it
//! (`found`), what the tile computes. What is kept of a map is what any reader of the next tile finds.

use super::Rules;
use super::geometry::{Extents, Needed};
use super::network::Reach;
use super::stacks::Stack;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Tiles that are alike, and so are those behind them.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub extents: Extents,
    pub first: bool,
    pub last: bool,
    /// Tiles.
    pub count: u64,
    /// The band of the next tile, or one like it.
    pub next: usize,
}

/// All bands of a stack along an axis, in order of appearance. `cached`: tiles leave what the next needs.
pub(super) fn bands(stack: &Stack, axis: usize, tile: u64, cached: bool, rules: Rules) -> Vec<Band> {
    let whole = stack.extents[stack.nodes() - 1][axis];
    match rules {
        Rules::Reference => without_padding(stack, axis, whole, tile.min(whole), cached),
        Rules::Padded => alike(with_padding(stack, axis, whole, tile.min(whole), cached)),
    }
}

/// The whole map in one tile.
pub(super) fn whole(stack: &Stack, axis: usize, rules: Rules) -> Extents {
    let all = stack.extents[stack.nodes() - 1][axis];
    bands(stack, axis, all, false, rules).swap_remove(0).extents
}

/// The remainder first.
fn without_padding(stack: &Stack, axis: usize, whole: u64, tile: u64, cached: bool) -> Vec<Band> {
    let rest = match whole % tile {
        0 => tile,
        rest => rest,
    };
    let others = (whole - rest) / tile;
    let band = |size: u64, first: bool, last: bool, count: u64, next: usize| Band {
        extents: Extents::new(stack, axis, size, cached && !first),
        first,
        last,
        count,
        next,
    };
    let mut bands = vec![band(rest, true, others == 0, 1, 1)];
    if others > 1 {
        bands.push(band(tile, false, false, others - 1, 1));
    }
    if others > 0 {
        bands.push(band(tile, false, true, 1, 0));
    }
    bands
}

/// Every tile, balanced.
fn with_padding(stack: &Stack, axis: usize, whole: u64, tile: u64, cached: bool) -> Vec<Extents> {
    let tiles = whole.div_ceil(tile);
    // What tiles so far have computed or loaded of each map.
    let mut done: Vec<u64> = vec![0; stack.nodes()];
    let mut all: Vec<Extents> = Vec::with_capacity(tiles as usize);
    for at in 0..tiles {
        let outputs = at * whole / tiles..(at + 1) * whole / tiles;
        let before = done.clone();
        let extents = one_tile(stack, axis, outputs, &before, cached, &mut done);
        if let Some(last) = all.last_mut() {
            leave(stack, last, &extents);
        }
        all.push(extents);
    }
    all
}

/// The intervals behind a range of the last map.
fn one_tile(
    stack: &Stack,
    axis: usize,
    outputs: Range<u64>,
    before: &[u64],
    cached: bool,
    done: &mut [u64],
) -> Extents {
    let last = stack.edges.len() - 1;
    let mut needed: Vec<Range<u64>> = vec![0..0; stack.nodes()];
    needed[stack.node(last)] = outputs;
    let mut extents = Extents {
        outputs: vec![0; stack.nodes()],
        inputs: vec![Vec::new(); stack.edges.len()],
        keep: vec![0; stack.nodes()],
    };
    let fresh = |node: usize, needed: &Range<u64>| {
        let start = if cached { needed.start.max(before[node]) } else { needed.start };
        start.min(needed.end)..needed.end
    };
    for stage in (0..=last).rev() {
        let node = stack.node(stage);
        let computed = fresh(node, &needed[node]);
        for edge in &stack.edges[stage] {
            let reached =
                reached(edge.reach[axis], edge.offset[axis], &computed, stack.extents[edge.from][axis]);
            let found =
                if cached { before[edge.from].clamp(reached.start, reached.end) - reached.start } else { 0 };
            extents.inputs[stage].push(Needed { span: reached.end - reached.start, found, left: 0 });
            needed[edge.from] = union(&needed[edge.from], &reached);
        }
    }
    for node in 0..stack.nodes() {
        let computed = fresh(node, &needed[node]);
        extents.outputs[node] = computed.end - computed.start;
        done[node] = done[node].max(computed.end);
    }
    extents
}

/// Inputs that a range of outputs reaches, without padding.
fn reached(reach: Reach, offset: i64, outputs: &Range<u64>, extent: u64) -> Range<u64> {
    if outputs.is_empty() {
        return 0..0;
    }
    let (low, high) = match reach {
        Reach::All(_) => return 0..extent,
        Reach::Same => (outputs.start as i64 + offset, outputs.end as i64 + offset),
        Reach::Window { stride, dilation, taps } => (
            (stride * outputs.start) as i64 + offset,
            (stride * (outputs.end - 1) + dilation * (taps - 1) + 1) as i64 + offset,
        ),
    };
    let clip = |place: i64| (place.max(0) as u64).min(extent);
    clip(low)..clip(high)
}

fn union(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// What a tile finds, the tile before has left.
fn leave(stack: &Stack, before: &mut Extents, next: &Extents) {
    for (edges, (left, found)) in stack.edges.iter().zip(before.inputs.iter_mut().zip(&next.inputs)) {
        for (edge, (left, found)) in edges.iter().zip(left.iter_mut().zip(found)) {
            left.left = found.found;
            before.keep[edge.from] = before.keep[edge.from].max(found.found);
        }
    }
}

/// Merges tiles that are alike and have alike tiles behind them.
fn alike(tiles: Vec<Extents>) -> Vec<Band> {
    let last = tiles.len() - 1;
    let mut known: FxHashMap<(&Extents, bool, Option<&Extents>), usize> = FxHashMap::default();
    let mut bands: Vec<Band> = Vec::new();
    let mut order = Vec::with_capacity(tiles.len());
    for (at, extents) in tiles.iter().enumerate() {
        let key = (extents, at == 0, tiles.get(at + 1));
        let band = *known.entry(key).or_insert_with(|| {
            bands.push(Band {
                extents: extents.clone(),
                first: at == 0,
                last: at == last,
                count: 0,
                next: 0,
            });
            bands.len() - 1
        });
        bands[band].count += 1;
        order.push(band);
    }
    for pair in order.windows(2) {
        bands[pair[0]].next = pair[1];
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth_first::network::Source;
    use crate::depth_first::stacks::{Edge, Kept, Outside};

    /// Two 3x3 convolutions with padding over 10 elements: input, first, second.
    fn two_convolutions() -> Stack {
        let reach = [Reach::Window { stride: 1, dilation: 1, taps: 3 }; 2];
        let edge = |from: usize| vec![Edge { from, reach, offset: [-1, -1], bits: 8 }];
        Stack {
            stages: 0..2,
            outside: vec![Outside { source: Source::Outside(0), bits: 8 }],
            edges: vec![edge(0), edge(1)],
            extents: vec![[10, 10]; 3],
            kept: Kept::default(),
        }
    }

    #[test]
    fn cached_tiles_compute_every_element_once() {
        // Tiles of 4, 3, 3 (balanced 10/3): the first tile of the second map needs 0..4 of it, 0..5 of the first
        // map, 0..6 of the input.
        let tiles = with_padding(&two_convolutions(), 0, 10, 4, true);
        let outputs: Vec<Vec<u64>> = tiles.iter().map(|tile| tile.outputs.clone()).collect();
        assert_eq!(outputs, [[5, 4, 3], [3, 3, 3], [2, 3, 4]]);
        // The second tile, 3..6 of the last map, reads 2..7 of the first, of which 2..4 are found.
        assert_eq!(tiles[1].inputs[1][0], Needed { span: 5, found: 2, left: 2 });
        assert_eq!(tiles[0].keep, [2, 2, 0]);
    }

    #[test]
    fn tiles_that_recompute_overlap() {
        let tiles = with_padding(&two_convolutions(), 0, 10, 4, false);
        let outputs: Vec<Vec<u64>> = tiles.iter().map(|tile| tile.outputs.clone()).collect();
        assert_eq!(outputs, [[5, 4, 3], [7, 5, 3], [6, 5, 4]]);
    }
}
