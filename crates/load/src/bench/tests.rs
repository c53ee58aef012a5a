//! Tests of load jobs against a small server of their own.
