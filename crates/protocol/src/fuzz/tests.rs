//! Runs the fuzz bodies.
