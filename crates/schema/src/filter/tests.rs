//! Filters on entries.
