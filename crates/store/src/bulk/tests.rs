//! Tests of bulk loading.
