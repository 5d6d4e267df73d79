//! A schedule and its event log as text, with the names of layers, tensors and pools.

use super::fair::UNITS;
use super::log::{Event, Log};
use super::{CriticalKind, Schedule};
use crate::accelerator::Accelerator;
use crate::cn::CnGraph;
use crate::ids::{CnId, CoreId, FragmentId, PoolId};
use crate::placement::Placement;
use crate::table::Table;
use crate::units::{Bits, Cycles};
use crate::workload::Workload;

/// What ids of a schedule stand for.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// Layers and tensors.
    pub workload: &'a Workload,
    /// Cores and pools.
    pub accelerator: &'a Accelerator,
    /// CNs and fragments.
    pub graph: &'a CnGraph,
    /// Cores of CNs.
    pub placement: &'a Placement,
}

impl Names<'_> {
    fn cn(&self, cn: CnId) -> String {
        format!("{cn} ({})", self.workload.layer(self.graph.layer(cn)).name)
    }

    fn fragment(&self, fragment: FragmentId) -> String {
        format!("{fragment} ({})", self.workload.tensor(self.graph.tensor_of[fragment.index()]).name)
    }

    fn pool(&self, pool: PoolId) -> &str {
        &self.accelerator.pool(pool).name
    }
}

impl Schedule {
    /// Latency and where it went, times of all CNs, the critical path, cores and pools.
    pub fn table(&self, names: Names) -> String {
        let why = &self.why;
        let mut cns = Table::new(&["CN", "layer", "core", "released", "admitted", "start", "end"]);
        for (index, times) in self.cns.iter().enumerate() {
            let cn = CnId::from(index);
            let core = names.placement.core(cn);
            let mut row = vec![cn.to_string(), names.workload.layer(names.graph.layer(cn)).name.clone()];
            row.push(names.accelerator.core(core).number.to_string());
            let times = [times.released, times.admitted, times.start, times.end];
            row.extend(times.map(|time| time.0.to_string()));
            cns.row(row);
        }
        let mut critical = Table::new(&["from", "to", "critical path"]);
        for step in &self.critical {
            let what = match step.kind {
                CriticalKind::Cn(cn) => format!("{} runs", names.cn(cn)),
                CriticalKind::Transfer(cn) => format!("{} waits for a transfer", names.cn(cn)),
                CriticalKind::Dram(cn) => format!("{} waits for DRAM", names.cn(cn)),
                CriticalKind::Memory(cn, pool) => {
                    format!("{} waits for space in {}", names.cn(cn), names.pool(pool))
                }
            };
            critical.row(vec![step.start.0.to_string(), step.end.0.to_string(), what]);
        }
        let mut use_of = Table::new(&["", "busy cycles", "peak bits"]);
        for (core, busy) in self.busy.iter().enumerate().filter(|(_, busy)| busy.0 > 0) {
            let number = names.accelerator.core(CoreId::from(core)).number;
            use_of.row(vec![format!("core {number}"), busy.0.to_string(), String::new()]);
        }
        for (pool, peak) in self.peak.iter().enumerate().filter(|(_, peak)| peak.0 > 0) {
            let name = names.pool(PoolId::from(pool)).to_owned();
            use_of.row(vec![name, String::new(), peak.0.to_string()]);
        }
        format!(
            "latency {} = {} compute + {} stall + {} transfer + {} DRAM + {} memory, {} transfers\n\n\
             {cns}\n{critical}\n{use_of}",
            self.latency.0, why.compute, why.stall, why.transfer, why.dram, why.memory, self.transfers
        )
    }
}

impl Log {
    /// One line per event.
    pub fn lines(&self, names: Names) -> String {
        self.0.iter().map(|event| line(event, names) + "\n").collect()
    }
}

fn line(event: &Event, names: Names) -> String {
    let at = |time: &Cycles| format!("{:>8}  ", time.0);
    match event {
        Event::Admit { time, cn, reserved } => {
            let reserved = reserved
                .iter()
                .map(|(pool, Bits(bits))| format!(", reserves {bits} in {}", names.pool(*pool)));
            format!("{}admit     {}{}", at(time), names.cn(*cn), reserved.collect::<String>())
        }
        Event::Request { time, fragment, to, cn, purpose } => {
            let (fragment, to, cn) = (names.fragment(*fragment), names.pool(*to), names.cn(*cn));
            format!("{}request   {fragment} to {to} for {cn}, {}", at(time), word(purpose))
        }
        Event::Transfer {
            time,
            transfer,
            fragment,
            cn,
            from,
            to,
            bits,
            issued,
            segments,
            rates,
            purpose,
        } => {
            let what = fragment.map_or_else(|| "stream".to_owned(), |fragment| names.fragment(fragment));
            let to: Vec<&str> = to.iter().map(|pool| names.pool(*pool)).collect();
            let segments = segments.iter().enumerate().map(|(i, (start, end))| match rates.get(i) {
                Some(&rate) => format!("{}..{} at {} bits/cycle", start.0, end.0, rate as f64 / UNITS as f64),
                None => format!("{}..{}", start.0, end.0),
            });
            let segments: Vec<String> = segments.collect();
            format!(
                "{}transfer  {transfer}: {what}, {} bits, {} -> {}, for {}, {}, issued {}, moved {}",
                at(time),
                bits.0,
                names.pool(*from),
                to.join(" and "),
                names.cn(*cn),
                word(purpose),
                issued.0,
                segments.join(" ")
            )
        }
        Event::Drop { time, fragment, pool } => {
            format!("{}drop      {} from {}", at(time), names.fragment(*fragment), names.pool(*pool))
        }
        Event::Start { time, cn } => format!("{}start     {}", at(time), names.cn(*cn)),
        Event::End { time, cn } => format!("{}end       {}", at(time), names.cn(*cn)),
    }
}

fn word(purpose: &super::log::Purpose) -> String {
    format!("{purpose:?}").to_lowercase()
}
