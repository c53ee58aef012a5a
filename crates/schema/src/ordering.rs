//! ordering
