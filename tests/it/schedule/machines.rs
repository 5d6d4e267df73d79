//! The pair of layers on machines with two DRAM cores, a shared memory, or one port for all.

use super::*;
use millstream::accelerator::yaml::File;
use millstream::diagnostic::Diagnostic;
use millstream::schedule::Contention;

/// The pair on two testing cores, connected as the text says.
fn on(text: &str) -> Problem {
    let resolver = |name: &str| {
        let text = millstream::library::core(name.trim_end_matches(".yaml"));
        let text = text.ok_or_else(|| Diagnostic::new(format!("no core {name}")))?;
        Ok(File { name: name.to_owned(), text: text.to_owned() })
    };
    let accelerator = hardware::parse("a.yaml", text, &resolver).unwrap_or_else(|errors| panic!("{errors}"));
    let given = pair_problem();
    Problem { overrides: given.overrides, ..Problem::new(pair(), accelerator, Mapping::default()).unwrap() }
}

/// Each core has a DRAM of its own: second.w comes from the second one, 0..16, while the first serves
/// the image and first.w; the result goes to the second.
#[test]
fn the_nearest_of_two_drams_serves() {
    let problem = on("name: two drams\noffchip_core_id: [2, 3]\n\
                      cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml, 3: dram.yaml}\n\
                      core_connectivity:\n\
                      \x20 - {type: link, cores: [0, 1], bandwidth: 64}\n\
                      \x20 - {type: link, cores: [0, 2], bandwidth: 64}\n\
                      \x20 - {type: link, cores: [1, 3], bandwidth: 64}\n");
    let evaluation = run(&problem, &[0, 1]);
    assert_eq!(transfers(&evaluation, Purpose::Prefetch), [(0, 16, 1)]);
    assert_eq!(transfers(&evaluation, Purpose::Fetch), [(0, 128, 1), (128, 160, 1), (260, 388, 1)]);
    assert_eq!(transfers(&evaluation, Purpose::Store), [(438, 502, 1)]);
    let dram: Vec<u64> = (problem.accelerator.pools.iter().enumerate())
        .filter(|(_, pool)| pool.dram)
        .map(|(at, _)| {
            evaluation.schedule.traffic.read_words[at] + evaluation.schedule.traffic.write_words[at]
        })
        .collect();
    assert_eq!(dram, [160, 16 + 64]);
}

/// Cores that share their memories need no transfer between the layers: the second one starts at 260.
#[test]
fn a_shared_memory_needs_no_transfer() {
    let problem = on("name: shared\noffchip_core_id: 2\n\
                      cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml}\n\
                      core_memory_sharing: [\"0, 1\"]\n\
                      core_connectivity:\n\
                      \x20 - {type: bus, cores: [0, 1, 2], bandwidth: 128}\n");
    let evaluation = run(&problem, &[0, 1]);
    assert_eq!(times(&evaluation), [(160, 260), (260, 310)]);
    assert_eq!(evaluation.schedule.transfers, 4);
    assert_eq!(evaluation.schedule.latency, Cycles(310 + 64));
}

/// The weights of the second layer leave their DRAM 0..16 and arrive at 416. Their CN is admitted at 260,
/// while they are on the way: nothing is left to be urged. What the first layer makes leaves 260..388 and
/// arrives at 888; the result leaves 938..1002 and takes 400 more.
#[test]
fn what_is_on_a_long_way_is_not_sent_again() {
    for contention in [Contention::Exclusive, Contention::Fair] {
        let mut problem = on("name: far\noffchip_core_id: [2, 3]\n\
                              cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml, 3: dram.yaml}\n\
                              core_connectivity:\n\
                              \x20 - {type: link, cores: [0, 1], bandwidth: 64, latency: 500}\n\
                              \x20 - {type: link, cores: [0, 2], bandwidth: 64}\n\
                              \x20 - {type: link, cores: [1, 3], bandwidth: 64, latency: 400}\n");
        problem.schedule.contention = contention;
        let evaluation = run(&problem, &[0, 1]);
        assert_eq!(transfers(&evaluation, Purpose::Prefetch), [(0, 16, 1)]);
        assert_eq!(times(&evaluation)[1], (888, 938));
        assert_eq!(evaluation.schedule.latency, Cycles(938 + 64 + 400));
    }
}
