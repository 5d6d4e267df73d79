//! `millstream schema KIND`: the JSON Schema of an input format.

use super::Failure;
use super::output::Output;
use crate::schema::{Kind, json_schema};
use clap::Args;

/// Arguments of `schema`.
#[derive(Args)]
pub(super) struct SchemaArgs {
    /// The format.
    #[arg(value_enum)]
    kind: Kind,
}

pub(super) fn schema(args: &SchemaArgs, out: &mut Output) -> Result<(), Failure> {
    out.json(&json_schema(args.kind))
}
