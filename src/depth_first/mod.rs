//! Depth-first study of one core: DeFiNES's job (arXiv 2212.05344; MODEL.md of `reference/defines`).
//!
//! ```text
//! Workload -> Network -> stacks -> tile types (geometry, levels) -> copies and costs -> Point
//! ```
//!
//! A [`Network`](network::Network) is cut into stacks of consecutive layers. The last map of a stack is
//! cut into tiles of Tx x Ty; each tile runs the whole stack, layer by layer, before the next one, in
//! raster order. What neighbouring tiles both need of a map is recomputed or kept, by [`Overlap`].
//! `geometry` and `bands` have the sizes, `levels` the memories, `copies` what moves between them, `study`
//! puts one point together, [`search`] the best stacks. Layers of a tile are costed by
//! [`cost`](crate::cost) on the memories up to those where their operands lie. Maps between stacks go
//! through DRAM, and nothing overlaps in time.
//!
//! [`Rules::Reference`] follows the reference to the bit; [`Rules::Padded`] does not need maps larger than
//! the network has.

pub mod network;
pub mod search;
pub mod stacks;
pub mod study;
pub mod tile;

mod bands;
mod copies;
mod geometry;
mod levels;
mod machine;

pub use machine::{Machine, MachineError};

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What happens to the part of a map that the next tile needs too (MODEL.md 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Computed again by every tile.
    Recompute,
    /// Columns are kept for the tile to the right, rows computed again.
    HCached,
    /// Columns are kept for the tile to the right, rows for the next row of tiles.
    Cached,
}

impl Overlap {
    /// All, from the least memory to the least work.
    pub const ALL: [Self; 3] = [Self::Recompute, Self::HCached, Self::Cached];

    fn keeps_columns(self) -> bool {
        self != Self::Recompute
    }

    fn keeps_rows(self) -> bool {
        self == Self::Cached
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recompute => "recompute",
            Self::HCached => "h-cached",
            Self::Cached => "cached",
        })
    }
}

/// Which sizes maps have, and what a tile finds of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The reference's: maps have no padding and their sizes follow from the last one; the remainder tile is the
    /// first; maps from outside are found in caches where nobody left them; array dimensions whose loops a
    /// layer lacks stay idle; the latency leaves out sending results away (MODEL.md 8, 14).
    Reference,
    /// The network's: padding is no data, tiles are balanced, caches are written before they are read, the generator
    /// fills idle array dimensions, and the latency includes sending results away.
    Padded,
}

/// Size of the tiles of every stack's last map, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TileSize {
    /// One tile: layer by layer.
    Full,
    /// Columns and rows; clipped to the map.
    Of(u64, u64),
}

impl TileSize {
    fn within(self, map: [u64; 2]) -> [u64; 2] {
        match self {
            Self::Full => map,
            Self::Of(x, y) => [x.min(map[0]), y.min(map[1])],
        }
    }
}

impl fmt::Display for TileSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Of(x, y) => write!(f, "{x}x{y}"),
        }
    }
}

impl FromStr for TileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "full" {
            return Ok(Self::Full);
        }
        let size = |part: &str| part.parse::<u64>().ok().filter(|size| *size > 0);
        (text.split_once('x').and_then(|(x, y)| Some(Self::Of(size(x)?, size(y)?))))
            .ok_or_else(|| format!("`{text}` is no tile: expected columns x rows, as in 4x72, or `full`"))
    }
}
