//! How much memory there is, and sizes as people write them.

use std::path::Path;

/// What a machine has when nobody says.
const UNKNOWN_BYTES: u64 = 4 << 30;

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

/// Bytes of memory this process may take: the machine's, or those of its control group.
pub fn available() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|it| {
        let line = it.lines().find_map(|it| it.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().split(' ').next()?.parse().ok()?;
        Some(kib << 10)
    });
    let limit = std::fs::read_to_string("/proc/self/cgroup").ok();
    let limit = limit.and_then(|it| {
        let own = it.lines().find_map(|it| it.strip_prefix("0::"))?;
        let mut folder = Some(Path::new(own.trim_start_matches('/')));
        let mut least = None;
        // A group above may allow less.
        while let Some(group) = folder {
            let file = Path::new("/sys/fs/cgroup").join(group).join("memory.max");
            let bytes = std::fs::read_to_string(file).ok();
            let bytes: Option<u64> = bytes.and_then(|it| it.trim().parse().ok());
            least = [least, bytes].into_iter().flatten().min();
            folder = group.parent();
        }
        least
    });
    let all = [machine, limit].into_iter().flatten().min();
    all.unwrap_or(UNKNOWN_BYTES)
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
        assert!(available() > 1 << 20);
    }
}
