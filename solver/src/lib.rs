//! Assignment problems in pure mathematics.
mod backend;
mod eliminate;
mod error;
mod exhaustive;
mod feasible;
mod greedy;
mod index;
mod limits;
mod local;
mod model;
mod objective;
mod problem;
mod solve;
mod split;
mod state;
mod symmetry;
mod transport;
mod windows;

pub use error::SolveError;
pub use exhaustive::{Best, choice_vectors, exhaustive};
pub use greedy::greedy;
pub use limits::Limits;
pub use local::{Improved, improve};
pub use objective::{Objective, evaluate};
pub use problem::{Block, Budget, Choice, Edge, Overflow, Pair, Problem, Symmetry, Task, Weights};
pub use solve::{Solution, SolveStatus, milp};

#[cfg(test)] mod measure;
