//! The checker finds nothing in a legal execution, and every illegal change of it.

mod claims;
mod events;
mod fair;
mod fixture;
mod hardware;
mod inputs;
mod life;
mod network;
mod simulated;
mod space;
mod transfers;

use fixture::{streams, two_layers};

/// Asserts that the check of a fixture finds a violation that matches.
macro_rules! found {
    ($fixture:expr, $($pattern:tt)+) => {{
        let report = $fixture.check();
        assert!(report.violations.iter().any(|violation| matches!(violation, $($pattern)+)), "{report}");
    }};
}

/// Asserts that the check of a fixture finds this violation and nothing else.
macro_rules! only {
    ($fixture:expr, $($pattern:tt)+) => {{
        let report = $fixture.check();
        assert!(matches!(report.violations.as_slice(), [$($pattern)+]), "{report}");
    }};
}

use {found, only};

#[test]
fn a_legal_execution_has_no_violations() {
    let report = two_layers().check();
    assert!(report.is_clean(), "{report}");
    let report = streams().check();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_report_counts_what_it_checked() {
    let report = two_layers().check();
    // Four CNs read 3 fragments each; 8 transfers use 3 resources, one of them twice, a multicast 4.
    assert_eq!(
        report.to_string(),
        "0 violations; checked 4 CNs, 9 fragments, 12 reads, 44 events, 9 transfers in 31 segments, \
         14 ledger rows\n"
    );
}

#[test]
fn a_report_prints_what_where_when_and_demand_against_bound() {
    let mut fixture = two_layers();
    fixture.accelerator.pools[0].size.0 = 215;
    assert!(fixture.check().to_string().contains("  pool0: holds 216 bits at 0 cycles, 215 bits fit\n"));
}
