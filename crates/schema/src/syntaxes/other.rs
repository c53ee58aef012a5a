//! Values of unchecked syntaxes.

/// Accepts any octets, also none.
pub(crate) fn anything(_value: &[u8]) -> Result<(), &'static str> {
    Ok(())
}
