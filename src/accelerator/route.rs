//! Routes between cores.
