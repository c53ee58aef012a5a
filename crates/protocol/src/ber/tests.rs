//! Tests of reading and writing elements.
