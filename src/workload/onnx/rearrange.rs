//! Layout operators: nodes that move elements and compute nothing.

use super::build::{Builder, LIMIT};
use super::loops::{optional, required};
use super::node::{Fault, Node, axis, invalid, unsupported, written};
use super::product::broadcast;
use crate::ids::TensorId;
use crate::workload::LayoutMap;

const OPERATORS: &[&str] = &[
    "Concat",
    "DepthToSpace",
    "Expand",
    "Flatten",
    "Gather",
    "Pad",
    "Reshape",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
];

/// Whether [`add`] knows the operator.
pub(super) fn handles(operator: &str) -> bool {
    OPERATORS.contains(&operator)
}

/// Adds an operator for which [`handles`] holds.
pub(super) fn add<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    let shape = builder.shape(input).to_vec();
    match node.operator() {
        "Concat" => concat(builder, node, inputs),
        "Split" => split(builder, node, inputs),
        "DepthToSpace" => depth_to_space(builder, node, input),
        "SpaceToDepth" => space_to_depth(builder, node, input),
        "Gather" => gather(builder, node, input, required(inputs, 1)?),
        "Transpose" => {
            let (result, map) = transpose(node, &shape)?;
            one(builder, node, input, result, map)
        }
        "Expand" => {
            let target = extents(builder.needed_values(required(inputs, 1)?)?)?;
            let result = broadcast(&shape, &target)?;
            one(builder, node, input, result, LayoutMap::Expand)
        }
        "Slice" => {
            let (result, map) = slice(builder, node, inputs, &shape)?;
            one(builder, node, input, result, map)
        }
        "Pad" => {
            let (result, map) = pad(builder, node, inputs, &shape)?;
            one(builder, node, input, result, map)
        }
        _ => {
            let result = reshape(builder, node, inputs, &shape)?;
            one(builder, node, input, result, LayoutMap::Reshape)
        }
    }
}

/// Adds the one output of a node with one data input.
fn one<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    input: TensorId,
    shape: Vec<u64>,
    map: LayoutMap,
) -> Result<(), Fault> {
    let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
    if !builder.is_constant(input) {
        builder.add_layout(node, vec![input], Some(output), shape, map)?;
        return Ok(());
    }
    let values = builder.values(input).and_then(|values| match &map {
        LayoutMap::Reshape => Some(values.to_vec()),
        LayoutMap::Slice { starts, steps } if starts.len() == 1 => {
            let index = |k: u64| (starts[0] as i64 + steps[0] * k as i64) as usize;
            (0..shape[0]).map(|k| values.get(index(k)).copied()).collect()
        }
        _ => None,
    });
    builder.add_constant(output, shape, builder.element(input), values)
}

fn reshape(
    builder: &Builder<'_>,
    node: Node<'_>,
    inputs: &[Option<TensorId>],
    shape: &[u64],
) -> Result<Vec<u64>, Fault> {
    let axes = || -> Result<Option<Vec<i64>>, Fault> {
        Ok(match optional(inputs, 1) {
            Some(axes) => Some(builder.needed_values(axes)?.to_vec()),
            None => node.ints("axes").map(<[i64]>::to_vec),
        })
    };
    match node.operator() {
        "Flatten" => {
            let at = node.int("axis").unwrap_or(1);
            // The axis may also be the rank itself: everything is in the first dimension.
            let at = if at == shape.len() as i64 { shape.len() } else { axis(at, shape.len())? };
            Ok(vec![shape[..at].iter().product(), shape[at..].iter().product()])
        }
        "Squeeze" => squeeze(shape, axes()?.as_deref()),
        "Unsqueeze" => {
            let axes = axes()?.ok_or_else(|| invalid("it has no axes"))?;
            let rank = shape.len() + axes.len();
            let mut single = vec![false; rank];
            for position in &axes {
                if std::mem::replace(&mut single[axis(*position, rank)?], true) {
                    return Err(invalid(format!("axes {axes:?} repeat")));
                }
            }
            let mut rest = shape.iter();
            Ok(single.iter().map(|single| if *single { 1 } else { *rest.next().unwrap_or(&1) }).collect())
        }
        _ => {
            let target = match optional(inputs, 1) {
                Some(target) => builder.needed_values(target)?,
                None => node.ints("shape").ok_or_else(|| invalid("it has no shape"))?,
            };
            reshaped(shape, target, node.int("allowzero").unwrap_or(0) != 0)
        }
    }
}

fn squeeze(shape: &[u64], axes: Option<&[i64]>) -> Result<Vec<u64>, Fault> {
    let Some(axes) = axes else {
        return Ok(shape.iter().copied().filter(|extent| *extent != 1).collect());
    };
    let mut gone = vec![false; shape.len()];
    for position in axes {
        let position = axis(*position, shape.len())?;
        if shape[position] != 1 {
            return Err(invalid(format!("axis {position} of {} is not 1", written(shape))));
        }
        gone[position] = true;
    }
    Ok(shape.iter().zip(gone).filter(|(_, gone)| !gone).map(|(extent, _)| *extent).collect())
}

/// 0 keeps an extent, -1 takes what is left.
fn reshaped(shape: &[u64], target: &[i64], allow_zero: bool) -> Result<Vec<u64>, Fault> {
    let mismatch = || invalid(format!("{} as {target:?}", written(shape)));
    let count: u64 = shape.iter().product();
    let mut free = None;
    let mut result = Vec::new();
    for (position, extent) in target.iter().enumerate() {
        result.push(match *extent {
            -1 if free.is_none() => {
                free = Some(position);
                1
            }
            0 if !allow_zero => *shape.get(position).ok_or_else(mismatch)?,
            extent => u64::try_from(extent).map_err(|_| mismatch())?,
        });
    }
    let product = result.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent));
    let product = product.ok_or_else(mismatch)?;
    if let Some(position) = free {
        if product == 0 || !count.is_multiple_of(product) {
            return Err(mismatch());
        }
        result[position] = count / product;
    } else if product != count {
        return Err(mismatch());
    }
    Ok(result)
}

fn transpose(node: Node<'_>, shape: &[u64]) -> Result<(Vec<u64>, LayoutMap), Fault> {
    let permutation: Vec<usize> = match node.ints("perm") {
        Some(order) => order.iter().map(|position| axis(*position, shape.len())).collect::<Result<_, _>>()?,
        None => (0..shape.len()).rev().collect(),
    };
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..shape.len()) {
        return Err(invalid(format!("perm {permutation:?} of {}", written(shape))));
    }
    let result = permutation.iter().map(|position| shape[*position]).collect();
    Ok((result, LayoutMap::Transpose { permutation }))
}

fn concat<'a>(builder: &mut Builder<'a>, node: Node<'a>, inputs: &[Option<TensorId>]) -> Result<(), Fault> {
    let parts: Vec<TensorId> = inputs.iter().flatten().copied().collect();
    let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
    let mut shape = builder.shape(required(inputs, 0)?).to_vec();
    let axis = axis(node.int("axis").ok_or_else(|| invalid("it has no axis"))?, shape.len())?;
    shape[axis] = 0;
    for part in &parts {
        let own = builder.shape(*part);
        let fits = own.len() == shape.len() && (0..own.len()).all(|at| at == axis || own[at] == shape[at]);
        if !fits {
            let first = written(builder.shape(parts[0]));
            return Err(invalid(format!("{first} and {} along axis {axis}", written(own))));
        }
        shape[axis] += own[axis];
    }
    if parts.iter().all(|part| builder.is_constant(*part)) {
        let values = parts.iter().map(|part| builder.values(*part)).collect::<Option<Vec<_>>>();
        let values = values.filter(|_| shape.len() == 1).map(|values| values.concat());
        return builder.add_constant(output, shape, builder.element(parts[0]), values);
    }
    builder.add_layout(node, parts, Some(output), shape, LayoutMap::Concat { axis })?;
    Ok(())
}

fn split<'a>(builder: &mut Builder<'a>, node: Node<'a>, inputs: &[Option<TensorId>]) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    let shape = builder.shape(input).to_vec();
    let axis = axis(node.int("axis").unwrap_or(0), shape.len())?;
    let count = node.0.output.len() as u64;
    let sizes = match (optional(inputs, 1), node.ints("split")) {
        (Some(sizes), _) => extents(builder.needed_values(sizes)?)?,
        (None, Some(sizes)) => extents(sizes)?,
        (None, None) => {
            let part = shape[axis].div_ceil(count);
            (0..count).map(|index| part.min(shape[axis].saturating_sub(index * part))).collect()
        }
    };
    let total = sizes.iter().try_fold(0u64, |sum, size| sum.checked_add(*size));
    if sizes.len() as u64 != count || total != Some(shape[axis]) {
        return Err(invalid(format!("{} in {count} parts {sizes:?}", written(&shape))));
    }
    let mut start = 0;
    for (output, size) in node.0.output.iter().zip(sizes) {
        let mut starts = vec![0; shape.len()];
        starts[axis] = start;
        start += size;
        let mut part = shape.clone();
        part[axis] = size;
        if output.is_empty() || !builder.is_read(output) {
            continue;
        }
        let steps = vec![1; shape.len()];
        if builder.is_constant(input) {
            builder.add_constant(output, part, builder.element(input), None)?;
        } else {
            let map = LayoutMap::Slice { starts, steps };
            builder.add_layout(node, vec![input], Some(output), part, map)?;
        }
    }
    Ok(())
}

fn slice(
    builder: &Builder<'_>,
    node: Node<'_>,
    inputs: &[Option<TensorId>],
    shape: &[u64],
) -> Result<(Vec<u64>, LayoutMap), Fault> {
    let list = |index: usize, attribute: &str| -> Result<Option<Vec<i64>>, Fault> {
        Ok(match optional(inputs, index) {
            Some(tensor) => Some(builder.needed_values(tensor)?.to_vec()),
            None => node.ints(attribute).map(<[i64]>::to_vec),
        })
    };
    let missing = || invalid("starts, ends, axes and steps do not match");
    let from = list(1, "starts")?.ok_or_else(missing)?;
    let to = list(2, "ends")?.ok_or_else(missing)?;
    let axes = list(3, "axes")?.unwrap_or_else(|| (0..from.len() as i64).collect());
    let by = list(4, "steps")?.unwrap_or_else(|| vec![1; from.len()]);
    if to.len() != from.len() || axes.len() != from.len() || by.len() != from.len() {
        return Err(missing());
    }
    let mut result = shape.to_vec();
    let (mut starts, mut steps) = (vec![0; shape.len()], vec![1; shape.len()]);
    for (index, position) in axes.iter().enumerate() {
        let at = axis(*position, shape.len())?;
        let (start, count) = sliced(shape[at], from[index], to[index], by[index])?;
        (starts[at], result[at]) = (start, count);
        steps[at] = if count > 1 { by[index] } else { 1 };
    }
    Ok((result, LayoutMap::Slice { starts, steps }))
}

/// First index and number of indices of `from..to` by `step`, counted from the end if negative.
fn sliced(extent: u64, from: i64, to: i64, step: i64) -> Result<(u64, u64), Fault> {
    let extent = i128::from(extent);
    let at = |index: i64| i128::from(index) + if index < 0 { extent } else { 0 };
    let step = i128::from(step);
    let (from, distance) = match step {
        0 => return Err(invalid("a step is 0")),
        1.. => {
            let (from, to) = (at(from).clamp(0, extent), at(to).clamp(0, extent));
            (from, to - from)
        }
        _ => {
            let (from, to) = (at(from).clamp(0, extent - 1), at(to).clamp(-1, extent - 1));
            (from, from - to)
        }
    };
    let count = (distance.max(0) as u128).div_ceil(step.unsigned_abs());
    Ok((from as u64, count as u64))
}

fn pad(
    builder: &Builder<'_>,
    node: Node<'_>,
    inputs: &[Option<TensorId>],
    shape: &[u64],
) -> Result<(Vec<u64>, LayoutMap), Fault> {
    let mode = node.string("mode").unwrap_or("constant");
    if mode != "constant" {
        return Err(unsupported(format!("mode `{mode}`")));
    }
    let pads = match (optional(inputs, 1), node.ints("pads")) {
        (Some(pads), _) => builder.needed_values(pads)?,
        (None, pads) => pads.ok_or_else(|| invalid("it has no pads"))?,
    };
    let axes: Vec<usize> = match optional(inputs, 3) {
        Some(axes) => {
            let positions = builder.needed_values(axes)?;
            positions.iter().map(|position| axis(*position, shape.len())).collect::<Result<_, _>>()?
        }
        None => (0..shape.len()).collect(),
    };
    let limit = LIMIT as i64;
    if pads.len() != 2 * axes.len() || pads.iter().any(|pad| !(-limit..=limit).contains(pad)) {
        return Err(invalid(format!("pads {pads:?} of {}", written(shape))));
    }
    let (mut before, mut result) = (vec![0; shape.len()], shape.to_vec());
    for (index, at) in axes.iter().enumerate() {
        let extent = result[*at].checked_add_signed(pads[index] + pads[index + axes.len()]);
        result[*at] = extent.ok_or_else(|| invalid(format!("pads {pads:?} of {}", written(shape))))?;
        before[*at] = pads[index];
    }
    Ok((result, LayoutMap::Pad { before }))
}

/// A constant index selects a slice of one, and its axis goes.
fn gather<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    input: TensorId,
    indices: TensorId,
) -> Result<(), Fault> {
    let shape = builder.shape(input).to_vec();
    let axis = axis(node.int("axis").unwrap_or(0), shape.len())?;
    let picked = builder.needed_values(indices)?.to_vec();
    let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
    let extent = shape[axis] as i64;
    let picked: Vec<i64> =
        picked.iter().map(|index| if *index < 0 { index + extent } else { *index }).collect();
    if picked.iter().any(|index| !(0..extent).contains(index)) {
        return Err(invalid(format!("index {picked:?} of {}", written(&shape))));
    }
    let mut result = shape[..axis].to_vec();
    result.extend(builder.shape(indices));
    result.extend(&shape[axis + 1..]);
    if builder.is_constant(input) {
        let known = builder.values(input).filter(|_| shape.len() == 1);
        let values = known.map(|known| picked.iter().map(|index| known[*index as usize]).collect());
        return builder.add_constant(output, result, builder.element(input), values);
    }
    let step = picked.get(1).map_or(1, |second| second - picked[0]);
    let even = picked.windows(2).all(|pair| pair[1] - pair[0] == step);
    if picked.is_empty() || !even || step == 0 {
        return Err(unsupported("its indices are not evenly spaced"));
    }
    let (mut starts, mut steps) = (vec![0; shape.len()], vec![1; shape.len()]);
    (starts[axis], steps[axis]) = (picked[0] as u64, step);
    let mut part = shape;
    part[axis] = picked.len() as u64;
    let part = builder.add_layout(node, vec![input], None, part, LayoutMap::Slice { starts, steps })?;
    builder.add_layout(node, vec![part], Some(output), result, LayoutMap::Reshape)?;
    Ok(())
}

fn depth_to_space<'a>(builder: &mut Builder<'a>, node: Node<'a>, input: TensorId) -> Result<(), Fault> {
    let (block, [batch, depth, height, width]) = blocks(builder, node, input)?;
    if !depth.is_multiple_of(block * block) {
        return Err(invalid(format!("{depth} channels in blocks of {block}x{block}")));
    }
    let left = depth / (block * block);
    let (split, permutation) = match node.string("mode").unwrap_or("DCR") {
        "CRD" => (vec![batch, left, block, block, height, width], vec![0, 1, 4, 2, 5, 3]),
        _ => (vec![batch, block, block, left, height, width], vec![0, 3, 4, 1, 5, 2]),
    };
    let result = vec![batch, left, height * block, width * block];
    shuffle(builder, node, input, (split, permutation, result))
}

fn space_to_depth<'a>(builder: &mut Builder<'a>, node: Node<'a>, input: TensorId) -> Result<(), Fault> {
    let (block, [batch, depth, height, width]) = blocks(builder, node, input)?;
    if !height.is_multiple_of(block) || !width.is_multiple_of(block) {
        return Err(invalid(format!("{height}x{width} in blocks of {block}x{block}")));
    }
    let (rows, columns) = (height / block, width / block);
    let split = vec![batch, depth, rows, block, columns, block];
    let result = vec![batch, depth * block * block, rows, columns];
    shuffle(builder, node, input, (split, vec![0, 3, 5, 1, 2, 4], result))
}

fn blocks(builder: &Builder<'_>, node: Node<'_>, input: TensorId) -> Result<(u64, [u64; 4]), Fault> {
    let shape = builder.shape(input);
    let shape = shape.try_into().map_err(|_| invalid(format!("an input {}", written(shape))))?;
    match node.int("blocksize") {
        Some(block @ 1..=1024) => Ok((block as u64, shape)),
        other => Err(invalid(format!("blocksize is {}", other.unwrap_or(0)))),
    }
}

/// Reshape, Transpose, Reshape.
fn shuffle<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    input: TensorId,
    (split, permutation, result): (Vec<u64>, Vec<usize>, Vec<u64>),
) -> Result<(), Fault> {
    if builder.is_constant(input) {
        return one(builder, node, input, result, LayoutMap::Expand);
    }
    let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
    let moved: Vec<u64> = permutation.iter().map(|position| split[*position]).collect();
    let step = builder.add_layout(node, vec![input], None, split, LayoutMap::Reshape)?;
    let step = builder.add_layout(node, vec![step], None, moved, LayoutMap::Transpose { permutation })?;
    builder.add_layout(node, vec![step], Some(output), result, LayoutMap::Reshape)?;
    Ok(())
}

fn extents(values: &[i64]) -> Result<Vec<u64>, Fault> {
    super::constant::shape(values)
}
