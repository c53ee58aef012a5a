//! Tests of controls and their values.
