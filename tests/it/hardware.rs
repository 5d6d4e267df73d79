//! Shipped hardware: what it is, and its routes.

use millstream::accelerator::Accelerator;
use millstream::accelerator::yaml;

fn shipped(name: &str) -> Accelerator {
    match yaml::shipped(name) {
        Some(Ok(accelerator)) => accelerator,
        Some(Err(errors)) => panic!("{errors}"),
        None => panic!("{name} is not shipped"),
    }
}

#[test]
fn show_all() {
    for name in millstream::library::accelerators() {
        println!("{}", shipped(name));
    }
}
