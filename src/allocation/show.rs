//! A candidate as a table: one row per layer.

use super::Candidate;
use crate::accelerator::Accelerator;
use crate::fusion::Cut;
use crate::table::Table;
use crate::workload::{Layer, Workload};

impl Candidate {
    /// Stack, rank, cuts and cores of every layer; cores by their numbers, one per part.
    pub fn table(&self, workload: &Workload, accelerator: &Accelerator) -> String {
        let mut table = Table::new(&["stack", "layer", "operator", "rank", "in time", "over cores", "cores"]);
        for id in workload.layer_ids() {
            let layer = workload.layer(id);
            let stack = self.tiling.stacks.iter().position(|stack| stack.layers.contains(&id));
            let tiling = &self.tiling.layers[id.index()];
            let cores = self.cores[id.index()].iter().map(|core| accelerator.core(*core).number.to_string());
            table.row(vec![
                stack.map(|stack| stack.to_string()).unwrap_or_default(),
                layer.name.clone(),
                layer.operator.clone(),
                self.order[id.index()].to_string(),
                cuts(layer, &tiling.intra),
                cuts(layer, &tiling.inter),
                cores.collect::<Vec<_>>().join(" "),
            ]);
        }
        let (layers, stacks) = (workload.layers.len(), self.tiling.stacks.len());
        let plural = if stacks == 1 { "stack" } else { "stacks" };
        format!("candidate: {layers} layers in {stacks} {plural}\n\n{table}")
    }
}

fn cuts(layer: &Layer, cuts: &[Cut]) -> String {
    let cuts = cuts.iter().map(|cut| format!("{} by {}", layer.dims[cut.dim].dim, cut.tile));
    cuts.collect::<Vec<_>>().join(", ")
}
