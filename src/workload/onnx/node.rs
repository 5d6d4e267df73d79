//! A node with its attributes, and what can be wrong with it.

use super::OnnxError;
use super::proto;
use super::read::label;

/// What is wrong with a node, before it is known which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The operator.
    Operator,
    /// A use of the operator.
    Unsupported(String),
    /// A contradiction in the file.
    Invalid(String),
}

/// A use of an operator that is not supported.
pub(super) fn unsupported(reason: impl Into<String>) -> Fault {
    Fault::Unsupported(reason.into())
}

/// A contradiction in the file.
pub(super) fn invalid(reason: impl Into<String>) -> Fault {
    Fault::Invalid(reason.into())
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'a>(pub &'a proto::Node);

impl<'a> Node<'a> {
    /// Name, or that of the first output.
    pub fn name(self) -> &'a str {
        label(self.0)
    }

    /// Operator without domain.
    pub fn operator(self) -> &'a str {
        &self.0.op_type
    }

    /// Whether the operator is ONNX's own.
    pub fn is_standard(self) -> bool {
        matches!(self.0.domain.as_str(), "" | "ai.onnx")
    }

    /// Name of output `index`; `None` if it is left out.
    pub fn output(self, index: usize) -> Option<&'a str> {
        self.0.output.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Name of input `index`; `None` if it is left out.
    pub fn input(self, index: usize) -> Option<&'a str> {
        self.0.input.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The attribute, if given.
    pub fn attribute(self, name: &str) -> Option<&'a proto::Attribute> {
        self.0.attribute.iter().find(|attribute| attribute.name == name)
    }

    /// An integer attribute.
    pub fn int(self, name: &str) -> Option<i64> {
        self.attribute(name).map(|attribute| attribute.i)
    }

    /// A list of integers.
    pub fn ints(self, name: &str) -> Option<&'a [i64]> {
        self.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    /// A string attribute.
    pub fn string(self, name: &str) -> Option<&'a str> {
        self.attribute(name).and_then(|attribute| std::str::from_utf8(&attribute.s).ok())
    }

    /// The error for a fault of this node.
    pub fn error(self, fault: Fault) -> OnnxError {
        let node = self.name().to_owned();
        let tensor = self.output(0).unwrap_or_default().to_owned();
        let operator = match self.is_standard() {
            true => self.operator().to_owned(),
            false => format!("{}:{}", self.0.domain, self.operator()),
        };
        match fault {
            Fault::Operator => OnnxError::UnsupportedOperator { node, operator, tensor },
            Fault::Unsupported(reason) => OnnxError::Unsupported { node, operator, tensor, reason },
            Fault::Invalid(reason) => OnnxError::Invalid { node, operator, tensor, reason },
        }
    }
}

/// An axis counted from the end if negative.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, Fault> {
    let position = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&position) {
        Ok(position as usize)
    } else {
        Err(invalid(format!("axis {axis} of a tensor of rank {rank}")))
    }
}

/// A shape as it is written: `1x3x224x224`, `scalar`.
pub(super) fn written(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(axis(1, 4), Ok(1));
        assert_eq!(axis(-1, 4), Ok(3));
        assert_eq!(axis(4, 4), Err(invalid("axis 4 of a tensor of rank 4")));
        assert_eq!(axis(-5, 4), Err(invalid("axis -5 of a tensor of rank 4")));
    }
}
