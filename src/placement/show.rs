//! A placement as a table: one row per layer, class and core.

use super::Placement;
use crate::accelerator::Accelerator;
use crate::table::Table;
use crate::workload::Workload;

impl Placement {
    /// The pool of every operand of the CNs of each layer, class and core; `~` marks what is streamed.
    pub fn table(&self, workload: &Workload, accelerator: &Accelerator) -> String {
        let mut table = Table::new(&["layer", "class", "core", "CNs", "operands"]);
        for (position, node) in self.nodes.iter().enumerate() {
            let cns = self.node_of.iter().filter(|of| **of as usize == position).count();
            let layer = workload.layer(node.layer);
            let places = layer.operands.iter().zip(&node.operands).filter_map(|(operand, place)| {
                let pool = &accelerator.pool(place.pool?).name;
                let streamed = if place.streamed { "~" } else { "" };
                Some(format!("{} in {streamed}{pool}", operand.name))
            });
            table.row(vec![
                layer.name.clone(),
                node.class.to_string(),
                accelerator.core(node.core).number.to_string(),
                cns.to_string(),
                places.collect::<Vec<_>>().join(", "),
            ]);
        }
        format!("placement: {} CNs, {} placed nodes\n\n{table}", self.node_of.len(), self.nodes.len())
    }
}
