//! Worked instances and the typical size, through the public interface.

mod hand;
mod size;
mod stack;
