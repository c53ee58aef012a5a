//! Sizes of memory as text, such as `512M`.

/// Bytes from a text such as `512M`, `4G` or `1000000`.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|it: char| !it.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => u32::MAX,
    };
    let count: Option<u64> = digits.parse().ok();
    let factor = 1_u64.checked_shl(shift);
    let bytes = count
        .zip(factor)
        .and_then(|(it, factor)| it.checked_mul(factor));
    bytes.ok_or_else(|| "expected a number of bytes, such as 512M or 4G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("2K", 2048),
            ("3m", 3 << 20),
            ("4GiB", 4 << 30),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "4X", "99999999999T", "1 G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
