//! Attribute descriptions (RFC 4512 §2.5): an attribute type with options.
//!
//! Invariant: options are lower case, sorted and distinct, so equal descriptions are equal values.

mod resolve;

use std::fmt;

use smallvec::SmallVec;

use crate::id::TypeId;

/// The range of values asked for by `;range=low-high` (draft-kashi-incremental).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueRange {
    /// Index of the first value, counted from 0.
    pub low: u64,
    /// Index of the last value; `None` for `*`, all remaining values.
    pub high: Option<u64>,
}

/// A resolved attribute description.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Description {
    /// The attribute type.
    pub type_id: TypeId,
    /// Tagging options, lower case, sorted, distinct.
    pub options: SmallVec<[String; 1]>,
    /// `;range=`, never stored.
    pub range: Option<ValueRange>,
}

impl Description {
    /// Returns the description of a type without options.
    #[inline]
    pub fn of_type(type_id: TypeId) -> Description {
        Description {
            type_id,
            options: SmallVec::new(),
            range: None,
        }
    }

    /// Returns whether the description selects others and cannot hold values: it has a language
    /// range such as `lang-en-` (RFC 3866 §2.2) or a value range.
    pub fn is_selection(&self) -> bool {
        self.range.is_some() || self.options.iter().any(|option| option.ends_with('-'))
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.high {
            Some(high) => write!(f, "range={}-{high}", self.low),
            None => write!(f, "range={}-*", self.low),
        }
    }
}
