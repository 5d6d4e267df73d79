//! Units of the model: cycles, bits, bits per cycle, picojoules.
//!
//! Each is a newtype with only the operations that mean something: `Bits / BitsPerCycle` gives
//! `Cycles`, rounded up, because a partly used cycle is used. The intra-core cost model works with
//! [`FractionalCycles`] (ZigZag's latencies may be fractional, MODEL.md section 9); they become
//! [`Cycles`] once, rounded up, on entering the schedule (Rule (cycles)).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

macro_rules! integer_unit {
    ($(#[$doc:meta])* $name:ident, $suffix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);

            /// `self - other`, or zero where `other` is larger.
            #[must_use]
            pub fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", self.0, $suffix)
            }
        }
    };
}

integer_unit!(
    /// A time or a duration of the schedule, in clock cycles.
    Cycles,
    " cycles"
);
integer_unit!(
    /// An amount of data, in bits.
    Bits,
    " bits"
);
integer_unit!(
    /// A bandwidth, in bits per cycle.
    BitsPerCycle,
    " bits/cycle"
);

impl Div<BitsPerCycle> for Bits {
    type Output = Cycles;
    /// Cycles to move the data, rounded up. A bandwidth of zero is refused by the readers.
    fn div(self, bandwidth: BitsPerCycle) -> Cycles {
        Cycles(self.0.div_ceil(bandwidth.0))
    }
}

impl Mul<Cycles> for BitsPerCycle {
    type Output = Bits;
    fn mul(self, time: Cycles) -> Bits {
        Bits(self.0 * time.0)
    }
}

impl Bits {
    /// The amount with a binary unit, as a memory's data sheet has it: `2 MiB`, `16 KiB`, `7 bits`.
    pub fn human(self) -> String {
        let bytes = self.0 as f64 / 8.0;
        if bytes >= 1024.0 * 1024.0 {
            format!("{} MiB", three_digits(bytes / (1024.0 * 1024.0)))
        } else if bytes >= 1024.0 {
            format!("{} KiB", three_digits(bytes / 1024.0))
        } else if self.0.is_multiple_of(8) {
            format!("{} B", self.0 / 8)
        } else {
            format!("{} bits", self.0)
        }
    }
}

/// Three significant digits without trailing zeros.
pub fn three_digits(value: f64) -> String {
    let text = if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Cycles of the intra-core model, which may be fractional.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FractionalCycles(pub f64);

impl FractionalCycles {
    /// Rounded up to whole cycles, as on entering the schedule (Rule (cycles)).
    pub fn ceil(self) -> Cycles {
        Cycles(self.0.max(0.0).ceil() as u64)
    }
}

impl fmt::Display for FractionalCycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycles", self.0)
    }
}

/// An energy, in picojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Picojoules(pub f64);

impl Picojoules {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
}

impl Add for Picojoules {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picojoules {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Mul<f64> for Picojoules {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

impl Sum for Picojoules {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Picojoules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pJ", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partly_used_cycle_is_used() {
        assert_eq!(Bits(64) / BitsPerCycle(32), Cycles(2));
        assert_eq!(Bits(65) / BitsPerCycle(32), Cycles(3));
        assert_eq!(FractionalCycles(142_087.375).ceil(), Cycles(142_088));
        assert_eq!(FractionalCycles(7.0).ceil(), Cycles(7));
    }

    #[test]
    fn sizes_as_a_data_sheet_has_them() {
        assert_eq!(Bits(16_777_216).human(), "2 MiB");
        assert_eq!(Bits(131_072).human(), "16 KiB");
        assert_eq!(Bits(7).human(), "7 bits");
        assert_eq!(Bits(411_238).human(), "50.2 KiB");
    }
}
