//! Tests of the binary form of filters.
