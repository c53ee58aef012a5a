//! grams
