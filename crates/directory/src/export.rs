//! Bulk export.
