//! Sizes of maps in a tile without padding, one axis at a time (MODEL.md 2).
//!
//! From the outputs of the stack's last layer back to its inputs: what a layer needs of a map, less
//! what is kept from the neighbour before, is what the map's own layer has to compute, the largest over
//! all readers. `keep` is what has to be kept of a map for the next tile. With one reader that is its
//! overlap; where a short branch waits for a long one it is more, by how far readers lag behind:
//!
//! ```text
//! lag of a reader's input = stride * lag of the reader - (span - stride*outputs + stride - 1) div 2 + overlap
//! keep = max(lag) - min(lag - overlap)                                       over the readers
//! ```
//!
//! The lag of a layer is that of the first reader on a walk back from the last layer, first inputs first.
//! (MODEL.md 2.5 has the largest over the readers seen; the recorded copies of ResNet-18 contradict it:
//! behind layer 7 two columns are kept, not four.)

use super::network::Reach;
use super::stacks::Stack;

/// A stack's maps along one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Extents {
    /// Per node: what the tile computes (or loads) of the map.
    pub outputs: Vec<u64>,
    /// Per layer and input.
    pub inputs: Vec<Vec<Needed>>,
    /// Per node: what is kept for the next tile.
    pub keep: Vec<u64>,
}

/// What a layer needs of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Needed {
    /// All of it, also what the neighbour has left.
    pub span: u64,
    /// Of it what the tile before has left, if tiles leave anything.
    pub found: u64,
    /// What the next tile needs too.
    pub left: u64,
}

impl Extents {
    /// For `outputs` elements of the last map along `axis`; `cached`: the tile before has left its part.
    pub fn new(stack: &Stack, axis: usize, outputs: u64, cached: bool) -> Self {
        let last = stack.edges.len() - 1;
        let mut extents = Self {
            outputs: vec![0; stack.nodes()],
            inputs: vec![Vec::new(); stack.edges.len()],
            keep: vec![0; stack.nodes()],
        };
        extents.outputs[stack.node(last)] = outputs;
        for stage in (0..=last).rev() {
            for edge in &stack.edges[stage] {
                let here = extents.outputs[stack.node(stage)];
                let (span, overlap) = (edge.reach[axis].span(here), edge.reach[axis].overlap(here));
                let fresh = if cached { span - overlap } else { span };
                extents.outputs[edge.from] = extents.outputs[edge.from].max(fresh);
                extents.inputs[stage].push(Needed { span, found: overlap, left: overlap });
            }
        }
        extents.keep = extents.keep(stack, axis);
        extents
    }

    fn keep(&self, stack: &Stack, axis: usize) -> Vec<u64> {
        let mut lags: Vec<Option<i64>> = vec![None; stack.nodes()];
        let last = stack.edges.len() - 1;
        lags[stack.node(last)] = Some(0);
        self.walk(stack, axis, last, &mut lags);
        let lags: Vec<i64> = lags.into_iter().map(|lag| lag.unwrap_or(0)).collect();
        (0..stack.nodes())
            .map(|node| {
                let lags = stack.readers(node).map(|(stage, at)| {
                    let lag = self.lag(stack, axis, stage, at, lags[stack.node(stage)]);
                    (lag, lag - self.inputs[stage][at].left as i64)
                });
                let (most, least) = lags.fold((i64::MIN, i64::MAX), |(most, least), (lag, short)| {
                    (most.max(lag), least.min(short))
                });
                u64::try_from(most.saturating_sub(least)).unwrap_or(0)
            })
            .collect()
    }

    /// Sets the lags of all maps behind a layer that have none yet.
    fn walk(&self, stack: &Stack, axis: usize, stage: usize, lags: &mut [Option<i64>]) {
        let reader = lags[stack.node(stage)].unwrap_or(0);
        for (at, edge) in stack.edges[stage].iter().enumerate() {
            if lags[edge.from].is_none() {
                lags[edge.from] = Some(self.lag(stack, axis, stage, at, reader));
                if let Some(behind) = edge.from.checked_sub(stack.outside.len()) {
                    self.walk(stack, axis, behind, lags);
                }
            }
        }
    }

    /// How far an input of a layer lags behind the last map.
    fn lag(&self, stack: &Stack, axis: usize, stage: usize, at: usize, reader: i64) -> i64 {
        let reach: Reach = stack.edges[stage][at].reach[axis];
        let Needed { span, left, .. } = self.inputs[stage][at];
        let (stride, outputs) = (reach.stride() as i64, self.outputs[stack.node(stage)] as i64);
        stride * reader - (span as i64 - stride * outputs + stride - 1).div_euclid(2) + left as i64
    }
}
