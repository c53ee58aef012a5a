//! Generalized and UTC time in all their forms, brought to UTC (RFC 4517 §3.3.13, §3.3.34).

/// A generalized time.
pub(crate) fn generalized_time(value: &[u8]) -> Result<(), &'static str> {
    normalise_generalized_time(value, &mut Vec::new())
}

/// A UTC time.
pub(crate) fn utc_time(value: &[u8]) -> Result<(), &'static str> {
    normalise_utc_time(value, &mut Vec::new())
}

pub(crate) fn normalise_generalized_time(
    _value: &[u8],
    _out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    unimplemented!()
}

pub(crate) fn normalise_utc_time(_value: &[u8], _out: &mut Vec<u8>) -> Result<(), &'static str> {
    unimplemented!()
}
