//! Part of the template language.
