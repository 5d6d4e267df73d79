//! What every CN reads and makes, who makes a fragment, and who still needs it.
//!
//! From the regions of all layers ([`super::regions`]): the one maker of every fragment, the number
//! of its reads, the fragments that leave the network; and that the classes, by which CNs are costed
//! and placed, have the sizes of their CNs.

use super::partition::Partition;
use super::regions::{OperandDemand, Region, Regions};
use super::{Case, Report, Violation, layouts};
use crate::ids::{CnId, FragmentId, LayerId, TensorId};
use crate::workload::Origin;

/// What the CNs of all layers touch.
pub(super) struct Demand {
    layers: Vec<LayerDemand>,
    layer_of: Vec<LayerId>,
    /// The CN that makes each fragment; none for inputs and constants.
    pub maker: Vec<Option<CnId>>,
    /// Reads of each fragment: (CN, operand) pairs.
    pub reads: Vec<u32>,
    /// Fragments that leave the network, with the output tensor.
    pub outputs: Vec<(FragmentId, TensorId)>,
}

struct LayerDemand {
    first: u32,
    operands: Vec<OperandDemand>,
}

impl Demand {
    /// Derives all regions; reports fragments that are only partly touched or not made exactly once.
    pub fn derive(case: &Case<'_>, partition: &Partition, report: &mut Report) -> Self {
        let mut layers = Vec::with_capacity(case.workload.layers.len());
        let mut layer_of = Vec::with_capacity(case.graph.cns());
        for (index, layer) in case.workload.layers.iter().enumerate() {
            let grid = &case.graph.layers[index];
            let operands = (0..layer.operands.len())
                .map(|operand| {
                    let id = LayerId::from(index);
                    Regions { case, partition, id, layer, dims: &grid.dims, operand }.derive(report)
                })
                .collect();
            layers.push(LayerDemand { first: grid.first.0, operands });
            layer_of.extend(std::iter::repeat_n(LayerId::from(index), grid.count as usize));
        }
        let fragments = partition.len();
        let mut demand = Self {
            layers,
            layer_of,
            maker: vec![None; fragments],
            reads: vec![0; fragments],
            outputs: outputs(case, partition),
        };
        demand.count(report);
        demand.check_makers(case, report);
        demand.check_classes(case, report);
        demand
    }

    /// Number of CNs.
    pub fn cns(&self) -> usize {
        self.layer_of.len()
    }

    /// Fragments that one operand of a CN touches, ascending.
    pub fn fragments(&self, cn: CnId, operand: usize) -> &[FragmentId] {
        self.of(cn).fragments(cn, operand)
    }

    /// Input fragments of a CN with the operand that reads them.
    pub fn inputs(&self, cn: CnId) -> impl Iterator<Item = (usize, FragmentId)> + '_ {
        let layer = self.of(cn);
        (1..layer.operands.len()).flat_map(move |operand| {
            layer.fragments(cn, operand).iter().map(move |fragment| (operand, *fragment))
        })
    }

    fn of(&self, cn: CnId) -> &LayerDemand {
        &self.layers[self.layer_of[cn.index()].index()]
    }

    /// Makers and numbers of reads.
    fn count(&mut self, report: &mut Report) {
        for cn in (0..self.layer_of.len()).map(CnId::from) {
            let layer = &self.layers[self.layer_of[cn.index()].index()];
            for operand in 1..layer.operands.len() {
                for fragment in layer.fragments(cn, operand) {
                    self.reads[fragment.index()] += 1;
                    report.checked.reads += 1;
                }
            }
            for fragment in layer.fragments(cn, 0) {
                if let Some(first) = self.maker[fragment.index()].replace(cn) {
                    report.add(Violation::TwoMakers { fragment: *fragment, first, second: cn });
                }
            }
        }
        report.checked.cns = self.layer_of.len() as u64;
    }

    fn check_makers(&self, case: &Case<'_>, report: &mut Report) {
        for (index, maker) in self.maker.iter().enumerate() {
            let tensor = case.graph.tensor_of[index];
            let fragment = FragmentId::from(index);
            match (case.workload.tensor(tensor).origin, maker) {
                (Origin::Layer(_), None) => report.add(Violation::NoMaker { fragment, tensor }),
                (Origin::Input | Origin::Constant, Some(cn)) => {
                    report.add(Violation::MadeInput { fragment, tensor, cn: *cn });
                }
                _ => {}
            }
        }
    }

    /// Classes decide costs and reservations: their sizes must be those of the CNs.
    fn check_classes(&self, case: &Case<'_>, report: &mut Report) {
        for cn in (0..self.cns()).map(CnId::from) {
            let layer = &case.workload.layers[self.layer_of[cn.index()].index()];
            let class_id = case.graph.class_of[cn.index()];
            let class = &case.graph.classes[class_id.index()];
            let mut wrong = |what| report.add(Violation::WrongClass { cn, class: class_id, what });
            let grid = &case.graph.layers[self.layer_of[cn.index()].index()];
            let offset = cn.0 - grid.first.0;
            let sizes = grid.dims.iter().map(|dim| {
                let tile = &dim.tiles[(offset / dim.stride) as usize % dim.tiles.len()];
                tile.end - tile.start
            });
            if !sizes.eq(class.nest.dims.iter().map(|(_, size)| *size)) {
                wrong("number of iterations");
            }
            if class.operand_bits.len() != layer.operands.len() {
                wrong("number of operands");
                continue;
            }
            let demand = self.of(cn);
            for (operand, claimed) in class.operand_bits.iter().enumerate() {
                if demand.region(cn, operand).map_or(0, |region| region.bits) != *claimed {
                    wrong("number of operand bits");
                }
            }
            let output = layer.output();
            let elements = demand.region(cn, 0).map_or(0, |region| region.elements);
            let partial_bits = elements * output.partial_bits.max(output.bits);
            if output.tensor.is_some() && class.partial_bits != partial_bits {
                wrong("number of partial-sum bits");
            }
        }
    }
}

impl LayerDemand {
    fn region(&self, cn: CnId, operand: usize) -> Option<&Region> {
        self.operands[operand].region(cn.0 - self.first)
    }

    fn fragments(&self, cn: CnId, operand: usize) -> &[FragmentId] {
        self.region(cn, operand).map_or(&[], |region| &region.fragments)
    }
}

/// Fragments of the tensors that leave the network.
fn outputs(case: &Case<'_>, partition: &Partition) -> Vec<(FragmentId, TensorId)> {
    let mut outputs = Vec::new();
    for tensor in &case.workload.outputs {
        match case.workload.tensor(*tensor).origin {
            Origin::Layout(_) => {
                let shape = &case.workload.tensor(*tensor).shape;
                let region: Vec<Vec<u64>> = shape.iter().map(|extent| (0..*extent).collect()).collect();
                let touched = layouts::touched(case.workload, partition, *tensor, &region);
                outputs.extend(touched.into_iter().map(|(fragment, _)| (fragment, *tensor)));
            }
            _ => outputs.extend(partition.fragments_of(*tensor).map(|fragment| (fragment, *tensor))),
        }
    }
    outputs.sort_unstable();
    outputs.dedup_by_key(|(fragment, _)| *fragment);
    outputs
}
