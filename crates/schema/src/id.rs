//! Handles of attribute types and object classes: small numbers that stand for definitions.

/// The handle of an attribute type, valid for the schema that gave it and for all that keep its
/// handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u16);

/// The handle of an object class, valid in the schema that gave it and in all that keep its
/// handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u16);
