//! Tests of LDIF.
