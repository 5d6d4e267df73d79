//! Constants: payloads of small integer tensors, and the nodes that compute with them.
//!
//! Networks compute shapes and indices in the graph. Their values are followed as far as they are
//! small integer tensors; of any other constant only the shape is known.

use super::build::Builder;
use super::loops::required;
use super::node::{Fault, Node, invalid, unsupported};
use super::precision::Element;
use super::proto;
use crate::ids::TensorId;

/// Largest number of elements whose values are followed: shapes and indices are shorter.
const FOLLOWED: u64 = 4096;

/// Adds the output of a node that makes a constant from attributes or shapes.
pub(super) fn add<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
    let (shape, element, values) = match node.operator() {
        "Constant" => literal(node)?,
        "ConstantOfShape" => filled(builder, node, required(inputs, 0)?)?,
        "Range" => range(builder, inputs)?,
        "Size" => {
            let count = builder.shape(required(inputs, 0)?).iter().product::<u64>();
            (Vec::new(), Element::INT64, Some(vec![count as i64]))
        }
        _ => {
            let shape = builder.shape(required(inputs, 0)?);
            let rank = shape.len() as i64;
            let at = |name: &str, default: i64| {
                let position = node.int(name).unwrap_or(default);
                (if position < 0 { position + rank } else { position }).clamp(0, rank) as usize
            };
            let (start, end) = (at("start", 0), at("end", rank));
            let part = shape.get(start..end).unwrap_or_default();
            let values: Vec<i64> = part.iter().map(|extent| *extent as i64).collect();
            (vec![values.len() as u64], Element::INT64, Some(values))
        }
    };
    builder.add_constant(output, shape, element, values)
}

type Contents = (Vec<u64>, Element, Option<Vec<i64>>);

fn literal(node: Node<'_>) -> Result<Contents, Fault> {
    if let Some(tensor) = node.attribute("value").and_then(|attribute| attribute.t.as_ref()) {
        return Ok((shape(&tensor.dims)?, Element(tensor.data_type), integers(tensor)));
    }
    if let Some(value) = node.int("value_int") {
        return Ok((Vec::new(), Element::INT64, Some(vec![value])));
    }
    if let Some(values) = node.ints("value_ints") {
        return Ok((vec![values.len() as u64], Element::INT64, Some(values.to_vec())));
    }
    if node.attribute("value_float").is_some() {
        return Ok((Vec::new(), Element::FLOAT, None));
    }
    if let Some(attribute) = node.attribute("value_floats") {
        return Ok((vec![attribute.floats.len() as u64], Element::FLOAT, None));
    }
    Err(unsupported("its value is neither a tensor nor numbers"))
}

fn filled(builder: &Builder<'_>, node: Node<'_>, extents: TensorId) -> Result<Contents, Fault> {
    let shape = shape(builder.needed_values(extents)?)?;
    let value = node.attribute("value").and_then(|attribute| attribute.t.as_ref());
    let element = value.map_or(Element::FLOAT, |tensor| Element(tensor.data_type));
    let count = shape.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent));
    let values = match (value.and_then(integers).as_deref(), count) {
        (Some([value]), Some(count)) if count <= FOLLOWED => Some(vec![*value; count as usize]),
        _ => None,
    };
    Ok((shape, element, values))
}

fn range(builder: &Builder<'_>, inputs: &[Option<TensorId>]) -> Result<Contents, Fault> {
    let start = required(inputs, 0)?;
    let mut numbers = [0; 3];
    for (index, number) in numbers.iter_mut().enumerate() {
        let values = builder.needed_values(required(inputs, index)?)?;
        *number = *values.first().ok_or_else(|| invalid("its inputs are no scalars"))?;
    }
    let [first, limit, step] = numbers.map(i128::from);
    if step == 0 {
        return Err(invalid("its step is 0"));
    }
    let distance = (limit - first) * step.signum();
    let count = if distance <= 0 { 0 } else { (distance as u128).div_ceil(step.unsigned_abs()) };
    if count > u128::from(FOLLOWED) {
        return Err(unsupported(format!("a range of {count} numbers")));
    }
    let values: Vec<i64> = (0..count as i128).map(|index| (first + index * step) as i64).collect();
    Ok((vec![values.len() as u64], builder.element(start), Some(values)))
}

/// Extents in the file.
pub(super) fn shape(dims: &[i64]) -> Result<Vec<u64>, Fault> {
    let extent = |dim: &i64| u64::try_from(*dim).map_err(|_| invalid(format!("its shape is {dims:?}")));
    dims.iter().map(extent).collect()
}

/// Values of a small integer tensor, if its payload is in the file.
pub(super) fn integers(tensor: &proto::Tensor) -> Option<Vec<i64>> {
    let count = shape(&tensor.dims).ok()?.iter().try_fold(1u64, |all, dim| all.checked_mul(*dim))?;
    if count > FOLLOWED {
        return None;
    }
    let raw = &tensor.raw_data;
    let values: Vec<i64> = match tensor.data_type {
        7 if !tensor.int64_data.is_empty() => tensor.int64_data.clone(),
        2..=6 | 9 if !tensor.int32_data.is_empty() => {
            tensor.int32_data.iter().map(|value| i64::from(*value)).collect()
        }
        2 | 9 => raw.iter().map(|byte| i64::from(*byte)).collect(),
        3 => raw.iter().map(|byte| i64::from(*byte as i8)).collect(),
        6 => chunks(raw).map(|bytes| i64::from(i32::from_le_bytes(bytes))).collect(),
        7 => chunks(raw).map(i64::from_le_bytes).collect(),
        _ => return None,
    };
    (values.len() as u64 == count).then_some(values)
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok())
}

/// The values of an element-wise operator on constants, if all are known.
pub(super) fn elementwise(operator: &str, inputs: &[Option<&[i64]>]) -> Option<Vec<i64>> {
    let inputs: Vec<&[i64]> = inputs.iter().copied().collect::<Option<_>>()?;
    match (operator, inputs.as_slice()) {
        ("Cast" | "Floor" | "Ceil" | "Round", [values]) => Some(values.to_vec()),
        ("Neg", [values]) => values.iter().map(|value| value.checked_neg()).collect(),
        ("Abs", [values]) => values.iter().map(|value| value.checked_abs()).collect(),
        ("Add", [a, b]) => pairs(a, b, i64::checked_add),
        ("Sub", [a, b]) => pairs(a, b, i64::checked_sub),
        ("Mul", [a, b]) => pairs(a, b, i64::checked_mul),
        ("Div", [a, b]) => pairs(a, b, i64::checked_div),
        ("Max", [a, b]) => pairs(a, b, |a, b| Some(a.max(b))),
        ("Min", [a, b]) => pairs(a, b, |a, b| Some(a.min(b))),
        _ => None,
    }
}

fn pairs(a: &[i64], b: &[i64], of: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    match (a, b) {
        ([a], b) => b.iter().map(|b| of(*a, *b)).collect(),
        (a, [b]) => a.iter().map(|a| of(*a, *b)).collect(),
        (a, b) if a.len() == b.len() => a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::bytes::Bytes;

    #[test]
    fn integers_come_from_either_payload_and_are_absent_without_one() {
        let mut tensor = proto::Tensor { dims: vec![2], data_type: 7, ..Default::default() };
        assert_eq!(integers(&tensor), None);
        tensor.raw_data =
            Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(integers(&tensor), Some(vec![1, -1]));
        tensor.raw_data = Bytes::new();
        tensor.int64_data = vec![3, 4];
        assert_eq!(integers(&tensor), Some(vec![3, 4]));
        tensor.dims = vec![3];
        assert_eq!(integers(&tensor), None);
    }

    #[test]
    fn overflow_leaves_values_unknown() {
        assert_eq!(elementwise("Mul", &[Some(&[2, 3]), Some(&[4])]), Some(vec![8, 12]));
        assert_eq!(elementwise("Mul", &[Some(&[i64::MAX]), Some(&[2])]), None);
        assert_eq!(elementwise("Div", &[Some(&[1]), Some(&[0])]), None);
    }
}
