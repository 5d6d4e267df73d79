//! Amounts as text: bits and bytes with binary prefixes, everything else with a thousands suffix.

const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];

/// `value` in at most three significant digits with its unit: `312 KiB`, `1.5 MiB`, `42 packets`.
pub fn amount(value: u64, unit: &str) -> String {
    match unit {
        "bits" if value < 8 => format!("{value} bit"),
        "bits" => scaled(value as f64 / 8.0, 1024.0, &BINARY, " "),
        "bytes" => scaled(value as f64, 1024.0, &BINARY, " "),
        _ => {
            let number = scaled(value as f64, 1000.0, &DECIMAL, "");
            format!("{number} {unit}").trim_end().to_owned()
        }
    }
}

/// `part / whole` in percent: `73 %`, `0.4 %`, `<0.1 %`; nothing counts as `0 %`, and only all as `100 %`.
pub fn percentage(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let percent = 100.0 * part as f64 / whole as f64;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.1 => "<0.1 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p if p > 99.5 && p < 100.0 => format!("{:.1} %", (p * 10.0).floor() / 10.0),
        p => format!("{p:.0} %"),
    }
}

/// At most two decimals and a suffix: `1.65M`.
pub fn short(value: f64) -> String {
    let suffixes = ["", "k", "M", "G", "T", "P"];
    let (mut value, mut at) = (value, 0);
    while value.abs() >= 1000.0 && at + 1 < suffixes.len() {
        value /= 1000.0;
        at += 1;
    }
    let digits = format!("{value:.2}");
    format!("{}{}", digits.trim_end_matches('0').trim_end_matches('.'), suffixes[at])
}

fn scaled(value: f64, base: f64, prefixes: &[&str], space: &str) -> String {
    let mut scaled = value;
    let mut prefix = 0;
    // 999.5 would round to 1000: the next prefix says it shorter.
    while scaled >= base.min(999.5) && prefix + 1 < prefixes.len() {
        scaled /= base;
        prefix += 1;
    }
    let digits = match scaled {
        s if (s - s.round()).abs() < 0.005 || s >= 99.95 => format!("{scaled:.0}"),
        s if s >= 9.995 => format!("{scaled:.1}"),
        _ => format!("{scaled:.2}"),
    };
    format!("{digits}{space}{}", prefixes[prefix])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_bytes_with_binary_prefixes() {
        assert_eq!(amount(5, "bits"), "5 bit");
        assert_eq!(amount(8 * 1024 * 312, "bits"), "312 KiB");
        assert_eq!(amount(8 * 1024 * 1024 * 3 / 2, "bits"), "1.50 MiB");
        assert_eq!(amount(1000, "bytes"), "0.98 KiB");
        assert_eq!(amount(0, "bytes"), "0 B");
    }

    #[test]
    fn other_units_keep_their_name() {
        assert_eq!(amount(42, "packets"), "42 packets");
        assert_eq!(amount(12_345, "flits"), "12.3k flits");
        assert_eq!(amount(7, ""), "7");
    }

    #[test]
    fn short_numbers_keep_two_decimals() {
        assert_eq!((short(1_650_000.0), short(20.0)), ("1.65M".to_owned(), "20".to_owned()));
    }

    #[test]
    fn percentages_do_not_hide_the_little() {
        assert_eq!(percentage(0, 10), "0 %");
        assert_eq!(percentage(1, 100_000), "<0.1 %");
        assert_eq!(percentage(4, 1000), "0.4 %");
        assert_eq!(percentage(73, 100), "73 %");
        assert_eq!(percentage(9_999, 10_000), "99.9 %");
        assert_eq!(percentage(10, 10), "100 %");
        assert_eq!(percentage(0, 0), "–");
    }
}
