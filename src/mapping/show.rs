//! A mapping as a table: one row per entry.

use super::{Mapping, MappingEntry, Pieces, Split};
use crate::table::{Table, runs};
use std::fmt;

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mapping: {} entries, {} fused stacks", self.entries.len(), self.stacks.len())?;
        let heading = ["layer", "rank", "cores", "allocation", "in time", "over cores", "spatial", "links"];
        let mut table = Table::new(&heading);
        for entry in &self.entries {
            table.row(row(entry));
        }
        writeln!(f)?;
        table.without_empty_columns().write(f)?;
        for (position, stack) in self.stacks.iter().enumerate() {
            if position == 0 {
                writeln!(f)?;
            }
            writeln!(f, "  stack {position}: {}", stack.join(", "))?;
        }
        for note in &self.notes {
            writeln!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

fn row(entry: &MappingEntry) -> Vec<String> {
    let cores = entry.cores.as_deref().map(|cores| runs(cores.iter().copied()));
    let allocation = entry.allocation.iter().flatten().map(ToString::to_string);
    let spatial = entry.spatial.iter().map(|mapping| {
        let loops = mapping.unrolled.iter().map(|(dim, factor)| format!("{dim} {factor}"));
        format!("{}: {}", mapping.array_dim, loops.collect::<Vec<_>>().join(" x "))
    });
    let hints = entry.spatial_hints.iter().map(|(array_dim, dims)| {
        let dims: Vec<_> = dims.iter().map(ToString::to_string).collect();
        format!("{array_dim}: {}?", dims.join("|"))
    });
    let order: Vec<_> = entry.order.iter().map(ToString::to_string).collect();
    let order = (!order.is_empty()).then(|| format!("order: {}", order.join(" ")));
    let links = entry.links.iter().map(|(operand, memory)| format!("{operand}={memory}"));
    vec![
        entry.name.clone(),
        entry.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        cores.unwrap_or_else(|| "any".to_owned()),
        allocation.collect::<Vec<_>>().join(" "),
        tiling(entry.intra_core_tiling.as_deref()),
        tiling(entry.inter_core_tiling.as_deref()),
        spatial.chain(hints).chain(order).collect::<Vec<_>>().join(", "),
        links.collect::<Vec<_>>().join(" "),
    ]
}

fn tiling(splits: Option<&[Split]>) -> String {
    let Some(splits) = splits else {
        return String::new();
    };
    if splits.is_empty() {
        return "uncut".to_owned();
    }
    let splits = splits.iter().map(|Split { dim, pieces }| match pieces {
        Pieces::All => format!("{dim} all"),
        Pieces::Auto => format!("{dim} *"),
        Pieces::Count(count) => format!("{dim} /{count}"),
        Pieces::Tile(tile) => format!("{dim} by {tile}"),
    });
    splits.collect::<Vec<_>>().join(", ")
}
