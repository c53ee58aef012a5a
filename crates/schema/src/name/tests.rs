//! Names: spellings that are equal, and structure.
