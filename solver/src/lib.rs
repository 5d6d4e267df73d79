//! Assignment problems in pure mathematics.
mod error;
mod exhaustive;
mod greedy;
mod index;
mod local;
mod objective;
mod problem;
mod state;

pub use error::SolveError;
pub use exhaustive::{Best, choice_vectors, exhaustive};
pub use greedy::greedy;
pub use local::{Improved, improve};
pub use objective::{Objective, evaluate};
pub use problem::{Budget, Choice, Edge, Overflow, Pair, Problem, Symmetry, Task, Weights};
