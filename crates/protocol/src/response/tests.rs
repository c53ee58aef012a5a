//! Tests of writing and reading responses.
