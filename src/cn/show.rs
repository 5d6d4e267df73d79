//! The CN graph as a table: per layer its grid, classes and fragments.

use super::CnGraph;
use crate::workload::Workload;
use std::collections::BTreeSet;
use std::fmt::Write;

impl CnGraph {
    /// One line per layer, then totals.
    pub fn table(&self, workload: &Workload) -> String {
        let mut text = format!(
            "{} CNs, {} classes, {} fragments, {} edges\n\n{:<6} {:<28} {:>7} {:>6} {:>8} {:>10}  cuts\n",
            self.cns(),
            self.classes.len(),
            self.fragments(),
            self.edges,
            "layer",
            "name",
            "CNs",
            "parts",
            "classes",
            "fragments"
        );
        for (id, layer) in workload.layer_ids().zip(&workload.layers) {
            let grid = &self.layers[id.index()];
            let classes: BTreeSet<_> = self.cns_of(id).map(|cn| self.class_of[cn.index()]).collect();
            let output = layer.output().tensor;
            let fragments = output.map_or(0, |tensor| self.tensors[tensor.index()].count);
            let cuts: Vec<String> = (layer.dims.iter().zip(&grid.dims))
                .filter(|(_, tiles)| tiles.tiles.len() > 1)
                .map(|(dim, tiles)| {
                    let last = tiles.tiles.last().map_or(0, |tile| tile.end - tile.start);
                    let first = tiles.tiles[0].end - tiles.tiles[0].start;
                    let rest = if last == first { String::new() } else { format!(" (last {last})") };
                    format!("{} {} = {} x {first}{rest}", dim.dim, dim.size, tiles.tiles.len())
                })
                .collect();
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{:<6} {:<28} {:>7} {:>6} {:>8} {:>10}  {}",
                id.0,
                layer.name,
                grid.count,
                grid.parts,
                classes.len(),
                fragments,
                cuts.join(", ")
            );
        }
        text
    }
}
