//! Bulk import.
