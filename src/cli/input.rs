//! Finding and reading the inputs: shipped by name, files by path.

use super::Failure;
use crate::accelerator::{Accelerator, yaml as accelerators};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::document::unreadable;
use crate::library;
use crate::mapping::{Mapping, yaml as mappings};
use crate::pipeline::Problem;
use crate::report::InputFile;
use crate::workload::onnx::{Activations, OnnxError, Precision, ReadOptions};
use crate::workload::{Workload, onnx, yaml as workloads};
use clap::{Args, ValueEnum};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The inputs of a command.
#[derive(Args)]
pub(super) struct InputArgs {
    /// Workload: a shipped network (see `millstream list`), an ONNX file, or ZigZag's YAML.
    #[arg(short, long, value_name = "NAME|FILE")]
    pub workload: String,
    /// Accelerator: a shipped one (see `millstream list`), an accelerator file, or a core file.
    #[arg(short, long, value_name = "NAME|FILE")]
    pub accelerator: String,
    /// Mapping: a shipped one, or a file (Stream's, ZigZag's, or the mapping.yaml of a result).
    #[arg(short, long, value_name = "NAME|FILE")]
    pub mapping: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// How ONNX files are read.
#[derive(Args)]
pub(super) struct ReadingArgs {
    /// Bind a dynamic dimension of an ONNX file.
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = parse_dim)]
    pub dims: Vec<(String, u64)>,
    /// Activation functions: folded into their producer, or layers of their own.
    #[arg(long, value_enum, default_value_t = ActivationsArg::Fold)]
    pub activations: ActivationsArg,
    /// Precisions: auto (float32 counts as not yet quantised), file, or act=8,weight=4,partial=16.
    #[arg(long, default_value = "auto", value_parser = parse_precision)]
    pub precision: Precision,
}

/// `--activations`.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ActivationsArg {
    /// Into their producer.
    Fold,
    /// Layers.
    Separate,
}

fn parse_dim(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example batch=1")?;
    let value = value.parse::<u64>().ok().filter(|value| *value > 0);
    Ok((name.to_owned(), value.ok_or("the value must be a whole number above zero")?))
}

fn parse_precision(text: &str) -> Result<Precision, String> {
    let expected = "expected auto, file, or act=BITS,weight=BITS,partial=BITS";
    match text {
        "auto" => return Ok(Precision::Auto),
        "file" => return Ok(Precision::File),
        _ => {}
    }
    let mut bits: BTreeMap<&str, u64> = BTreeMap::new();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or(expected)?;
        bits.insert(name, value.parse().map_err(|_| expected)?);
    }
    match (bits.get("act"), bits.get("weight"), bits.get("partial"), bits.len()) {
        (Some(&act), Some(&weight), Some(&partial), 3) if act * weight * partial > 0 => {
            Ok(Precision::Fixed { act, weight, partial })
        }
        _ => Err(expected.to_owned()),
    }
}

impl ReadingArgs {
    fn options(&self) -> ReadOptions {
        ReadOptions {
            dims: self.dims.iter().cloned().collect(),
            activations: match self.activations {
                ActivationsArg::Fold => Activations::Fold,
                ActivationsArg::Separate => Activations::Separate,
            },
            precision: self.precision,
        }
    }
}

/// Reads a workload.
pub(super) fn workload(name: &str, reading: &ReadingArgs) -> Result<(Workload, InputFile), Failure> {
    let options = reading.options();
    let path = Path::new(name);
    if let Some(bytes) = library::workload(name)
        && !path.exists()
    {
        let workload = match (library::is_text(name), std::str::from_utf8(bytes)) {
            (true, Ok(text)) => workloads::parse(name, text)?,
            _ => onnx::parse(name, bytes, &options)?,
        };
        return Ok((workload, hashed("workload", name, bytes)));
    }
    if !path.exists() && path.extension().is_none() {
        return Err(unknown("workload", name, library::workloads()));
    }
    let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    let workload = match yaml {
        true => workloads::load(path)?,
        false if path.is_dir() => {
            let error = Diagnostic::new(format!("`{name}` is a folder"));
            return Err(error.help("give the path of an ONNX file, or of a workload in YAML").into());
        }
        false => onnx::load(path, &options).map_err(|error| of_onnx(path, error))?,
    };
    Ok((workload, file("workload", path)?))
}

/// What is wrong with an ONNX file, with its path and what to do.
fn of_onnx(path: &Path, error: OnnxError) -> Diagnostics {
    let help = match &error {
        OnnxError::Open { source, .. } => {
            return unreadable(path, source, "an ONNX file, or of a workload in YAML");
        }
        OnnxError::Tensor { reason, .. } | OnnxError::Invalid { reason, .. }
            if reason.ends_with("too large") =>
        {
            "an axis may have up to 2^30 elements, a tensor up to 2^50"
        }
        OnnxError::NotOnnx { .. } => {
            "`-w` takes ONNX files, and workloads in YAML by files that end in .yaml"
        }
        OnnxError::Damaged { .. } => "export or download the file again",
        OnnxError::UnboundDimension { .. } | OnnxError::UnknownDimension { .. } => "",
        OnnxError::UnsupportedOperator { .. } | OnnxError::Unsupported { .. } => {
            "replace the node or cut the network in front of it; nothing is left out silently"
        }
        _ => "the file contradicts ONNX: export it again, or check it with ONNX's own checker",
    };
    let name = path.display();
    let error = Diagnostic::new(match &error {
        OnnxError::NotOnnx { reason, .. } => format!("`{name}` is not an ONNX model: {reason}"),
        OnnxError::Damaged { reason, .. } => {
            format!("`{name}` is a truncated or damaged ONNX model: {reason}")
        }
        error => format!("{name}: {error}"),
    });
    if help.is_empty() { error.into() } else { error.help(help).into() }
}

/// Reads an accelerator; `run` needs its DRAM as a core of its own.
pub(super) fn accelerator(name: &str) -> Result<(Accelerator, InputFile), Failure> {
    let path = Path::new(name);
    if let Some(text) = library::accelerator(name)
        && !path.exists()
    {
        return Ok((accelerators::find(name)?, hashed("accelerator", name, text.as_bytes())));
    }
    if !path.exists() && path.extension().is_none() {
        return Err(unknown("accelerator", name, library::accelerators()));
    }
    let accelerator = accelerators::load(path)?;
    Ok((accelerator, file("accelerator", path)?))
}

/// Reads a mapping, a shipped one by name; an empty one without a file.
pub(super) fn mapping(
    path: Option<&Path>,
    accelerator: Option<&Accelerator>,
) -> Result<(Mapping, Option<InputFile>), Failure> {
    let shipped = path.filter(|path| !path.exists()).and_then(Path::to_str);
    if let Some((name, text)) = shipped.and_then(|name| Some((name, library::mapping(name)?))) {
        let mapping = mappings::parse(name, text, accelerator)?;
        return Ok((mapping, Some(hashed("mapping", name, text.as_bytes()))));
    }
    match path {
        Some(path) => Ok((mappings::load(path, accelerator)?, Some(file("mapping", path)?))),
        None => Ok((Mapping::default(), None)),
    }
}

/// The problem that the inputs pose. An error about a mapping entry leads to its line.
pub(super) fn problem(
    workload: Workload,
    accelerator: Accelerator,
    mapping: Mapping,
    mapping_file: Option<&Path>,
) -> Result<Problem, Failure> {
    Problem::new(workload, accelerator, mapping).map_err(|error| {
        let place = mapping_file.zip(error.entry()).and_then(|(path, entry)| {
            let text = std::fs::read_to_string(path).ok()?;
            mappings::place_of(&path.display().to_string(), &text, entry)
        });
        let error = Diagnostic { place, ..Diagnostic::new(error.to_string()) };
        error.into()
    })
}

/// The hash of a file.
pub(super) fn file(role: &str, path: &Path) -> Result<InputFile, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", path.display())))?;
    Ok(hashed(role, &path.display().to_string(), &bytes))
}

fn hashed(role: &str, name: &str, bytes: &[u8]) -> InputFile {
    let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    InputFile { role: role.to_owned(), name: name.to_owned(), sha256 }
}

fn unknown(role: &str, name: &str, shipped: impl Iterator<Item = &'static str>) -> Failure {
    let names: Vec<&str> = shipped.collect();
    let error = Diagnostic::new(format!("there is no {role} `{name}`: neither a file nor shipped"));
    let error = match nearest(name, names.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    };
    error.help(format!("shipped are {}", names.join(", "))).into()
}
