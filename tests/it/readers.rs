//! The YAML readers: what they accept, and the text of their errors.

use millstream::mapping::{self, Mapping};
use millstream::accelerator;
use std::path::{Path, PathBuf};

fn reference(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference").join(part)
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}

#[test]
fn dev() {
    for folder in ["stream/inputs/main/examples/hardware", "stream/inputs/main/testing/hardware", "newest/inputs/stream_2_1_1_hardware", "stream/inputs/c5742c6e/examples/hardware", "stream/inputs/70eb6751/examples/hardware", "stream/inputs/c5742c6e/testing/hardware","stream/inputs/study/hardware", "zigzag/inputs/hardware", "defines/inputs/hardware"] {
        for file in yaml_files(&reference(folder)) {
            match accelerator::yaml::load(&file) {
                Ok(accelerator) => println!("OK {}\n{accelerator}", file.display()),
                Err(errors) => println!("REFUSED {}\n{errors}", file.display()),
            }
        }
    }
}

#[test]
fn devmap() {
    for folder in ["stream/inputs/main/examples/mapping", "stream/inputs/main/testing/mapping", "newest/inputs/stream_2conv_mappings", "newest/inputs/automatic_mappings", "stream/inputs/c5742c6e/examples/mapping", "stream/inputs/study/mapping", "zigzag/inputs/mapping", "zigzag/inputs/mapping_extra"] {
        for file in yaml_files(&reference(folder)) {
            match mapping::yaml::load(&file, None) {
                Ok(read) => {
                    println!("OK {}\n{read}", file.display());
                    let text = mapping::write(&read);
                    let again: Mapping = mapping::yaml::parse("again", &text, None).unwrap_or_else(|e| panic!("{e}\n{text}"));
                    assert_eq!((&again.entries, &again.stacks), (&read.entries, &read.stacks), "{text}");
                }
                Err(errors) => println!("REFUSED {}\n{errors}", file.display()),
            }
        }
    }
}

#[test]
fn devwork() {
    for folder in ["zigzag/inputs/workload", "zigzag/inputs", "stream/inputs/main/testing/workload", "stream/inputs/main/examples/workload"] {
        for file in yaml_files(&reference(folder)) {
            match millstream::workload::yaml::load(&file) {
                Ok(w) => {
                    println!("OK {} {} layers {} ops {} params", file.display(), w.layers.len(), w.operations(), w.parameters());
                    for l in &w.layers {
                        let t: Vec<_> = l.operands.iter().map(|o| format!("{}:{}{:?}{}", o.name, o.tensor.map(|t| w.tensor(t).name.clone()).unwrap_or_default(), o.tensor.map(|t| w.tensor(t).shape.clone()), o.axes.iter().map(|a| format!(" {}", a.offset)).collect::<String>())).collect();
                        println!("  {} {} {}", l.name, l.operator, t.join("  "));
                    }
                    println!("  outputs {:?} notes {:?}", w.outputs, w.notes);
                }
                Err(errors) => println!("REFUSED {}\n{errors}", file.display()),
            }
        }
    }
}
