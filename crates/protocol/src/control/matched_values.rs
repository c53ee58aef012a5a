//! Matched values control (RFC 3876): returns only matching values of the selected attributes.

use super::sequence_of;
use crate::ber::{SEQUENCE, put_nested};
use crate::error::{Component, DecodeError};
use crate::filter::Filter;

/// Maximum number of filter items.
const ITEMS_MAX: usize = 1024;

/// `ValuesReturnFilter` of RFC 3876 §2: a value is returned when any item matches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedValues<'a> {
    /// The items: no `and`, `or`, `not`, nor matching in names; at least one when decoded.
    pub items: Vec<Filter<'a>>,
}

impl<'a> MatchedValues<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut list = sequence_of(value)?;
        let mut items = Vec::new();
        while !list.is_empty() {
            if items.len() == ITEMS_MAX {
                return Err(DecodeError::TooMany {
                    what: Component::FilterItems,
                    limit: ITEMS_MAX as u32,
                });
            }
            // A SimpleFilterItem is an item of Filter: depth 0 leaves out the combinations.
            let item = Filter::decode(&mut list, 0)?;
            if let Filter::Extensible {
                dn_attributes: true,
                ..
            } = item
            {
                return Err(DecodeError::MatchingInNames);
            }
            items.push(item);
        }
        if items.is_empty() {
            return Err(DecodeError::EmptyList {
                what: Component::FilterItems,
            });
        }
        Ok(MatchedValues { items })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            self.items.iter().for_each(|item| item.encode(out))
        });
    }
}
