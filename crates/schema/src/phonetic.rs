//! phonetic
