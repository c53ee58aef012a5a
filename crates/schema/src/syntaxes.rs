//! syntaxes
