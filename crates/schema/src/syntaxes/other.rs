//! Values nobody looks into.

/// Any octets, also none.
pub(crate) fn anything(_value: &[u8]) -> Result<(), &'static str> {
    Ok(())
}
