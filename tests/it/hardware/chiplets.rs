//! Dies: `chiplets` gives connections between them their class, and what is wrong is said.

use super::*;
use millstream::accelerator::LinkEnergy;
use millstream::units::Picojoules;

/// Four cores on two dies, DRAM at a bus of its own, with these keys and connections.
fn text(keys: &str, connections: &str) -> String {
    format!(
        "name: dies\n{keys}\n\
         cores: {{0: simd.yaml, 1: simd.yaml, 2: simd.yaml, 3: simd.yaml, 4: dram.yaml}}\n\
         core_connectivity:\n{connections}  - {{type: bus, cores: [0, 1, 2, 3, 4], bandwidth: 64}}\n"
    )
}

fn classes(accelerator: &Accelerator) -> Vec<LinkClass> {
    accelerator.links.iter().map(|link| link.class).collect()
}

fn errors(text: &str) -> String {
    let resolver = |name: &str| {
        let text = millstream::library::core(name.trim_end_matches(".yaml")).unwrap();
        Ok(File { name: name.to_owned(), text: text.to_owned() })
    };
    yaml::parse("a.yaml", text, &resolver).unwrap_err().to_string()
}

const LINKS: &str = "  - {type: link, cores: [0, 1], bandwidth: 64}\n\
                     \x20 - {type: link, cores: [1, 2], bandwidth: 16, latency: 5, energy_per_bit: 1.5}\n\
                     \x20 - {type: bus, cores: [0, 2, 3], bandwidth: 16}\n\
                     \x20 - {type: link, cores: [0, 3], bandwidth: 16, class: offchip}\n";

#[test]
fn connections_between_dies_are_die_to_die() {
    use LinkClass::{D2d, Noc, Offchip};
    let dies = accelerator(&text("chiplets: {0: [0, 1], 1: [2, 3]}", LINKS));
    assert_eq!(classes(&dies), [Noc, D2d, D2d, Offchip, Offchip]);
    assert_eq!((dies.links[1].latency, dies.links[1].energy), (5, LinkEnergy::PerBit(Picojoules(1.5))));
    let one = accelerator(&text("", LINKS));
    assert_eq!(classes(&one), [Noc, Noc, LinkClass::Bus, Offchip, Offchip]);
}

#[test]
fn a_connection_between_dies_is_not_on_chip() {
    let links = "  - {type: link, cores: [1, 2], bandwidth: 16, class: noc}\n";
    let found = errors(&text("chiplets: {0: [0, 1], 1: [2, 3]}", links));
    assert!(found.contains("a connection between `chiplets` has the class noc"), "{found}");
}

#[test]
fn every_core_stands_on_one_die() {
    let twice = errors(&text("chiplets: {0: [0, 1], 1: [1, 2, 3]}", LINKS));
    assert!(twice.contains("core 1 stands on two chiplets"), "{twice}");
    let none = errors(&text("chiplets: {0: [0, 1], 1: [2]}", LINKS));
    assert!(none.contains("core 3 stands on no chiplet"), "{none}");
    let unknown = errors(&text("chiplets: {0: [0, 1], 1: [2, 3, 9]}", LINKS));
    assert!(unknown.contains("there is no core 9"), "{unknown}");
    let form = errors(&text("chiplets: 2", LINKS));
    assert!(form.contains("`chiplets` must map dies to their cores"), "{form}");
}

#[test]
fn both_energies_of_a_connection_are_an_error() {
    let links = "  - {type: link, cores: [0, 1], bandwidth: 8, energy_per_bit: 1, unit_energy_cost: 2}\n";
    let found = errors(&text("", links));
    assert!(found.contains("both `energy_per_bit` and `unit_energy_cost` are given"), "{found}");
}
