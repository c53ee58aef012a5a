//! Tests of the wrapper.
