//! Handles of attribute types and object classes: small numbers that stand for definitions.

/// The handle of an attribute type, valid for the schema that gave it and all with its handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u16);

/// The handle of an object class, valid for the schema that gave it and all that have its handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u16);
