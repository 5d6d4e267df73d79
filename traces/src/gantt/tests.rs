//! The structure of whole charts.
