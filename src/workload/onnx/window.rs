//! Operators that slide a window: convolutions, poolings, local response normalisation.
//!
//! Convolution: `O[b][g][k][oy][ox] += W[g][k][c][fy][fx] * I[b][g][c][iy][ix]` with loop
//! dimensions in the order B, K, G, OX, OY, C, FX, FY, where K and C count per group and
//! `iy = stride*oy + dilation*fy - pad` (ZigZag, MODEL.md section 11). Pooling: the same without K
//! and C, with a window of no data as W. A tensor's axis 2 is y and its axis 3 is x; with a single
//! spatial axis it is x.

use super::build::{Builder, LIMIT};
use super::loops::{Nest, along, digits, loop_dim, operand, optional, required};
use super::node::{Fault, Node, invalid, unsupported, written};
use crate::ids::TensorId;
use crate::workload::{Axis, LoopDim, MemoryOperand, Term};

/// Geometry of a window per spatial axis, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    kernel: Vec<u64>,
    strides: Vec<u64>,
    dilations: Vec<u64>,
    /// Padding in front.
    before: Vec<u64>,
    /// Extents of the output.
    output: Vec<u64>,
}

/// Adds a convolution.
pub(super) fn convolution<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let (input, weight) = (required(inputs, 0)?, required(inputs, 1)?);
    let (data, filter) = (builder.shape(input).to_vec(), builder.shape(weight).to_vec());
    let names = spatial_names(&data)?;
    if filter.len() != data.len() || filter.contains(&0) {
        return Err(invalid(format!("a kernel {} on an input {}", written(&filter), written(&data))));
    }
    let group = size(node.int("group").unwrap_or(1), "group")?;
    if data[1] != group * filter[1] || !filter[0].is_multiple_of(group) {
        let (data, filter) = (written(&data), written(&filter));
        return Err(invalid(format!("a kernel {filter} with group {group} on an input {data}")));
    }
    if let Some(kernel) = node.ints("kernel_shape")
        && !kernel.iter().map(|extent| *extent as u64).eq(filter[2..].iter().copied())
    {
        return Err(invalid(format!("kernel_shape {kernel:?} and a kernel {}", written(&filter))));
    }
    let window = window(node, &data[2..], &filter[2..])?;
    let (outputs, channels) = (filter[0] / group, filter[1]);
    let mut dims = vec![loop_dim("B", data[0]), loop_dim("K", outputs), loop_dim("G", group)];
    dims.extend(spatial_dims(names, 'O', &window.output).into_iter().rev());
    dims.push(loop_dim("C", channels));
    dims.extend(spatial_dims(names, 'F', &window.kernel).into_iter().rev());
    let at = |name: String| position(&dims, &name);

    let mut output = vec![along(0), digits(&[(2, outputs), (1, 1)])];
    output.extend(names.iter().map(|name| along(at(format!("O{name}")))));
    let mut filter_axes = vec![digits(&[(2, outputs), (1, 1)]), along(at("C".to_owned()))];
    filter_axes.extend(names.iter().map(|name| along(at(format!("F{name}")))));
    let mut data_axes = vec![along(0), digits(&[(2, channels), (at("C".to_owned()), 1)])];
    data_axes.extend(window.axes(names, &dims));

    let mut shape = vec![data[0], filter[0]];
    shape.extend(&window.output);
    let constant = builder.is_constant(weight);
    let inputs_of = vec![
        operand("W", MemoryOperand::I2, Some(weight), filter_axes, constant),
        operand("I", MemoryOperand::I1, Some(input), data_axes, builder.is_constant(input)),
    ];
    let nest = Nest { dims, output, inputs: inputs_of };
    let element = builder.element(input);
    builder.add_layer(node, shape, element, nest)?;
    keep_bias(builder, optional(inputs, 2), filter[0])
}

/// A bias is part of the layer.
pub(super) fn keep_bias(
    builder: &mut Builder<'_>,
    bias: Option<TensorId>,
    outputs: u64,
) -> Result<(), Fault> {
    let Some(bias) = bias else { return Ok(()) };
    if !builder.is_constant(bias) {
        return Err(unsupported("the bias is computed at run time"));
    }
    let shape = builder.shape(bias);
    if !matches!(*shape, [] | [1] | [1, 1]) && !matches!(*shape, [own] | [1, own] if own == outputs) {
        return Err(unsupported(format!("a bias {} for {outputs} outputs", written(shape))));
    }
    builder.keep_folded(bias);
    Ok(())
}

/// Adds a pooling layer or a local response normalisation.
pub(super) fn pooling<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    if node.output(1).is_some_and(|indices| builder.is_read(indices)) {
        return Err(unsupported("indices of maxima are an output"));
    }
    let data = builder.shape(input).to_vec();
    if node.operator() == "LRN" {
        return response_normalisation(builder, node, input);
    }
    let names = spatial_names(&data)?;
    let window = if node.operator().starts_with("Global") {
        Window::global(&data[2..])
    } else {
        let kernel = node.ints("kernel_shape").ok_or_else(|| invalid("it has no kernel_shape"))?;
        let kernel: Result<Vec<u64>, Fault> =
            kernel.iter().map(|extent| size(*extent, "kernel_shape")).collect();
        window(node, &data[2..], &kernel?)?
    };
    let mut dims = vec![loop_dim("B", data[0]), loop_dim("G", data[1])];
    dims.extend(spatial_dims(names, 'O', &window.output));
    dims.extend(spatial_dims(names, 'F', &window.kernel).into_iter().rev());
    let at = |name: String| position(&dims, &name);

    let mut output = vec![along(0), along(1)];
    output.extend(names.iter().map(|name| along(at(format!("O{name}")))));
    let window_axes = names.iter().rev().map(|name| along(at(format!("F{name}")))).collect();
    let mut data_axes = vec![along(0), along(1)];
    data_axes.extend(window.axes(names, &dims));

    let mut shape = vec![data[0], data[1]];
    shape.extend(&window.output);
    let inputs_of = vec![
        operand("W", MemoryOperand::I2, None, window_axes, true),
        operand("I", MemoryOperand::I1, Some(input), data_axes, builder.is_constant(input)),
    ];
    let nest = Nest { dims, output, inputs: inputs_of };
    let element = builder.element(input);
    builder.add_layer(node, shape, element, nest)?;
    Ok(())
}

/// `O[b][k][..]` from the `size` channels around channel k: a window along the channels.
fn response_normalisation<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    input: TensorId,
) -> Result<(), Fault> {
    let data = builder.shape(input).to_vec();
    let names = spatial_names(&data)?;
    let window = size(node.int("size").unwrap_or(0), "size")?;
    let mut dims = vec![loop_dim("B", data[0]), loop_dim("G", data[1])];
    dims.extend(spatial_dims(names, 'O', &data[2..]));
    dims.push(loop_dim("F", window));
    let output: Vec<Axis> = (0..data.len()).map(along).collect();
    let mut axes = output.clone();
    axes[1] = sliding((1, 1), (data.len(), 1), (window - 1) / 2);
    let inputs = vec![operand("I", MemoryOperand::I1, Some(input), axes, false)];
    let element = builder.element(input);
    builder.add_layer(node, data, element, Nest { dims, output, inputs })?;
    Ok(())
}

impl Window {
    /// One window over everything.
    fn global(extents: &[u64]) -> Self {
        let rank = extents.len();
        Self {
            kernel: extents.to_vec(),
            strides: vec![1; rank],
            dilations: vec![1; rank],
            before: vec![0; rank],
            output: vec![1; rank],
        }
    }

    /// Input axes, in the order of the tensor.
    fn axes(&self, names: &[&str], dims: &[LoopDim]) -> Vec<Axis> {
        let axis = |(index, name): (usize, &&str)| {
            let moved = (position(dims, &format!("O{name}")), self.strides[index]);
            let inside = (position(dims, &format!("F{name}")), self.dilations[index]);
            sliding(moved, inside, self.before[index])
        };
        names.iter().enumerate().map(axis).collect()
    }
}

fn sliding(moved: (usize, u64), inside: (usize, u64), before: u64) -> Axis {
    let terms = [moved, inside].map(|(dim, coefficient)| Term { dim, coefficient });
    Axis { terms: terms.to_vec(), offset: -(before as i64), sliding: true }
}

/// The window's geometry from the node's attributes.
fn window(node: Node<'_>, extents: &[u64], kernel: &[u64]) -> Result<Window, Fault> {
    let rank = extents.len();
    if kernel.len() != rank {
        return Err(invalid(format!("a kernel {} on {rank} spatial axes", written(kernel))));
    }
    let strides = per_axis(node, "strides", rank)?;
    let dilations = per_axis(node, "dilations", rank)?;
    let pads = pads(node, rank)?;
    let auto = node.string("auto_pad").unwrap_or("NOTSET");
    let ceil = node.int("ceil_mode").unwrap_or(0) != 0;
    let mut window = Window {
        kernel: kernel.to_vec(),
        strides: strides.clone(),
        dilations: dilations.clone(),
        before: Vec::new(),
        output: Vec::new(),
    };
    for axis in 0..rank {
        let (extent, stride) = (extents[axis], strides[axis]);
        let span = (kernel[axis] - 1) * dilations[axis] + 1;
        let (before, output) = match auto {
            "SAME_UPPER" | "SAME_LOWER" => {
                let output = extent.div_ceil(stride);
                let total = ((output - 1) * stride + span).saturating_sub(extent);
                (if auto == "SAME_UPPER" { total / 2 } else { total.div_ceil(2) }, output)
            }
            "VALID" => (0, positions(extent, span, stride, ceil, 0)?),
            "NOTSET" | "" => {
                let (before, after) = (pads[axis], pads[axis + rank]);
                (before, positions(extent + before + after, span, stride, ceil, after)?)
            }
            other => return Err(invalid(format!("auto_pad is `{other}`"))),
        };
        window.before.push(before);
        window.output.push(output);
    }
    Ok(window)
}

/// Number of window positions; the last one starts before the padding behind.
fn positions(padded: u64, span: u64, stride: u64, ceil: bool, after: u64) -> Result<u64, Fault> {
    if padded < span {
        return Err(invalid(format!("a window of {span} on {padded} elements")));
    }
    let steps = if ceil { (padded - span).div_ceil(stride) } else { (padded - span) / stride };
    let outside = steps * stride >= padded - after;
    Ok(if ceil && outside { steps } else { steps + 1 })
}

fn per_axis(node: Node<'_>, name: &str, rank: usize) -> Result<Vec<u64>, Fault> {
    let Some(values) = node.ints(name) else { return Ok(vec![1; rank]) };
    if values.len() != rank {
        return Err(invalid(format!("{name} {values:?} on {rank} spatial axes")));
    }
    values.iter().map(|value| size(*value, name)).collect()
}

fn pads(node: Node<'_>, rank: usize) -> Result<Vec<u64>, Fault> {
    let Some(values) = node.ints("pads") else { return Ok(vec![0; 2 * rank]) };
    if values.len() != 2 * rank || values.iter().any(|pad| !(0..=LIMIT as i64).contains(pad)) {
        return Err(invalid(format!("pads {values:?} on {rank} spatial axes")));
    }
    Ok(values.iter().map(|pad| *pad as u64).collect())
}

/// A size of at least 1.
fn size(value: i64, name: &str) -> Result<u64, Fault> {
    match u64::try_from(value) {
        Ok(size) if (1..=LIMIT).contains(&size) => Ok(size),
        _ => Err(invalid(format!("{name} is {value}"))),
    }
}

/// Names of the spatial axes of a tensor `[batch, channels, ..]`.
fn spatial_names(data: &[u64]) -> Result<&'static [&'static str], Fault> {
    match data.len() {
        3 => Ok(&["X"]),
        4 => Ok(&["Y", "X"]),
        rank => Err(unsupported(format!("an input of rank {rank} ({})", written(data)))),
    }
}

fn spatial_dims(names: &[&str], prefix: char, sizes: &[u64]) -> Vec<LoopDim> {
    names.iter().zip(sizes).map(|(name, size)| loop_dim(&format!("{prefix}{name}"), *size)).collect()
}

fn position(dims: &[LoopDim], name: &str) -> usize {
    let found = dims.iter().position(|dim| dim.dim.0 == name);
    found.expect("the operator's loop dimensions contain each spatial axis")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_adds_a_position_only_if_it_starts_inside() {
        // 7 elements, window 3, stride 2: 3 positions, nothing left over.
        assert_eq!(positions(7, 3, 2, false, 0), Ok(3));
        assert_eq!(positions(7, 3, 2, true, 0), Ok(3));
        // 8 elements: one is left over, and a fourth window starts at 6.
        assert_eq!(positions(8, 3, 2, false, 0), Ok(3));
        assert_eq!(positions(8, 3, 2, true, 0), Ok(4));
        // 4 elements and 1 behind, window 1, stride 4: a second window would start in the padding.
        assert_eq!(positions(5, 1, 4, true, 1), Ok(1));
        assert_eq!(positions(2, 3, 1, false, 0), Err(invalid("a window of 3 on 2 elements")));
    }
}
