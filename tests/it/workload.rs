//! Reading networks.
use millstream::workload::onnx::{ReadOptions, load};

#[test]
fn probe() {
    for path in std::env::var("PROBE").unwrap().split(':') {
        match load(std::path::Path::new(path), &ReadOptions::default()) {
            Ok(workload) => println!("{workload}"),
            Err(error) => println!("{path}: {error}"),
        }
    }
}
