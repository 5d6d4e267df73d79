//! Ticks of the time axis: multiples of 1, 2 or 5 times a power of ten, with one suffix for the whole axis.

const SUFFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// A tick and its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it stands.
    pub time: u64,
    /// What stands below it.
    pub label: String,
}

/// Ticks from 0 to at most `end`, about `most` of them and never more than `most + 1`.
pub fn choose_ticks(end: u64, most: u32) -> Vec<Tick> {
    let step = step(end, most.max(1));
    let suffix = suffix(end, step);
    (0..=end / step).map(|i| Tick { time: i * step, label: label(i * step, step, suffix) }).collect()
}

/// Least step of the series 1, 2, 5, 10, 20 … with `end / step <= most`.
fn step(end: u64, most: u32) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if end / step <= u64::from(most) {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Power of 1000 to count in: small numbers stay as they are up to 9999, with a suffix labels are at most 999, with
/// one decimal if the step needs it.
fn suffix(end: u64, step: u64) -> usize {
    let mut suffix = 0;
    let mut unit: u64 = 1;
    let long = |unit: u64| match unit {
        1 => end >= 10_000 || step >= 1000,
        _ => end / unit >= 1000 && step / unit >= 100,
    };
    while suffix + 1 < SUFFIXES.len() && long(unit) {
        unit *= 1000;
        suffix += 1;
    }
    suffix
}

fn label(time: u64, step: u64, suffix: usize) -> String {
    if time == 0 {
        return "0".to_owned();
    }
    let unit = 1000_u64.pow(suffix as u32);
    let mut decimals = 0;
    while decimals < 3 && !(step * 10_u64.pow(decimals)).is_multiple_of(unit) {
        decimals += 1;
    }
    let digits = format!("{:.*}", decimals as usize, time as f64 / unit as f64);
    format!("{digits}{}", SUFFIXES[suffix])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(end: u64, most: u32) -> String {
        let labels: Vec<String> = choose_ticks(end, most).into_iter().map(|t| t.label).collect();
        labels.join(" ")
    }

    #[test]
    fn steps_are_round_and_labels_short() {
        assert_eq!(labels(10, 5), "0 2 4 6 8 10");
        assert_eq!(labels(950, 10), "0 100 200 300 400 500 600 700 800 900");
        assert_eq!(labels(5_000, 5), "0 1k 2k 3k 4k 5k");
        assert_eq!(labels(2_600, 6), "0 500 1000 1500 2000 2500");
        assert_eq!(labels(1_020, 15), "0 100 200 300 400 500 600 700 800 900 1000");
        assert_eq!(labels(123_456, 7), "0 20k 40k 60k 80k 100k 120k");
        assert_eq!(labels(1_234_567, 7), "0 0.2M 0.4M 0.6M 0.8M 1.0M 1.2M");
        assert_eq!(labels(48_000_000, 5), "0 10M 20M 30M 40M");
        assert_eq!(labels(12_000, 5), "0 5k 10k");
        assert_eq!(
            labels(11_000, 30),
            "0 0.5k 1.0k 1.5k 2.0k 2.5k 3.0k 3.5k 4.0k 4.5k 5.0k 5.5k 6.0k 6.5k 7.0k 7.5k 8.0k 8.5k 9.0k 9.5k 10.0k 10.5k 11.0k"
        );
    }

    #[test]
    fn the_ends_of_the_range_are_safe() {
        assert_eq!(labels(0, 5), "0");
        assert_eq!(labels(u64::MAX, 3), "0 5E 10E 15E");
    }
}
