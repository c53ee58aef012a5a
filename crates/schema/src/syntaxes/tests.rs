//! Tables of values and what the rules make of them.
