//! String preparation (RFC 4518).
