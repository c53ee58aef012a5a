//! Fuzz bodies: no bytes cause a panic.

use crate::chain::Head;
use crate::verify::Verifier;

/// Reads the lines of a file, and bytes as a stored head.
pub fn lines(bytes: &[u8]) {
    let mut verifier = Verifier::default();
    for line in bytes.split(|it| *it == b'\n') {
        let _ = verifier.take(line);
    }
    if let Some(head) = Head::decode(bytes) {
        assert_eq!(head.encode(), bytes, "a head is stored as it was read");
        let mut out = Vec::new();
        head.opening().write(&mut out);
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    #[test]
    fn the_corpus_of_lines() {
        run("audit_lines", super::lines);
    }
}
