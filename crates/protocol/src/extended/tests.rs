//! Tests of the values of extended operations.
