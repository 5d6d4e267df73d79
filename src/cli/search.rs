//! Options of the search over intra-core mappings.

use crate::cost::{Division, Model, Objective, SearchOptions};
use clap::Args;

/// How the cost of a CN on a core is found.
#[derive(Args)]
pub(super) struct SearchArgs {
    /// Rules of the intra-core cost model.
    #[arg(long, value_enum, default_value_t)]
    model: Model,
    /// Most loops of an ordering, or `none` with the optimal allocator.
    #[arg(long, default_value = "6", value_name = "N|none", value_parser = parse_limit)]
    lpf_limit: usize,
    /// How loops are divided among memories.
    #[arg(long, value_enum, default_value_t)]
    allocator: Division,
    /// Spatial mappings the generator offers per CN, where the mapping or the core leaves it open.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = parse_count)]
    spatial_mappings: usize,
    /// Let the generator unroll several loop dimensions over one array dimension (default: true, but for
    /// `cost`, which follows ZigZag's).
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    mix: Option<bool>,
}

impl SearchArgs {
    /// The options under an objective; `mix` where the user is silent.
    pub(super) fn options(&self, objective: Objective, mix: bool) -> SearchOptions {
        SearchOptions {
            objective,
            lpf_limit: self.lpf_limit,
            allocator: self.allocator,
            spatial_mappings: self.spatial_mappings,
            mix: self.mix.unwrap_or(mix),
            model: self.model,
        }
    }
}

/// A factor limit; `none` is the largest number.
fn parse_limit(text: &str) -> Result<usize, String> {
    if text == "none" {
        return Ok(usize::MAX);
    }
    (text.parse::<usize>().ok().filter(|limit| (1..=9).contains(limit)))
        .ok_or_else(|| "expected a whole number from 1 to 9, or `none`".to_owned())
}

fn parse_count(text: &str) -> Result<usize, String> {
    (text.parse::<usize>().ok().filter(|count| *count > 0))
        .ok_or_else(|| "expected a whole number above zero".to_owned())
}
