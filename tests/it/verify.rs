//! The checker finds nothing in a legal execution, and every illegal change of it.

mod fixture;

use fixture::{streams, two_layers};

#[test]
fn a_legal_execution_has_no_violations() {
    let report = two_layers().check();
    assert!(report.is_clean(), "{report}");
    let report = streams().check();
    assert!(report.is_clean(), "{report}");
}
