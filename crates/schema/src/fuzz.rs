//! Fuzz bodies: any bytes may come and nothing panics. The fuzz targets are one call each.

use crate::Schema;
use crate::matching::{MatchingRule, certificate_parts};

/// The rules whose values and assertions are read apart (RFC 4523 §3).
const RULES: [&str; 5] = [
    "2.5.13.34",
    "2.5.13.35",
    "2.5.13.38",
    "2.5.13.39",
    "2.5.13.40",
];

/// Certificates and revocation lists, stored and asserted.
pub fn certificate(bytes: &[u8]) {
    let schema = Schema::standard();
    for oid in RULES {
        let rule = MatchingRule::by_name(oid).expect("the rule is built in");
        let (mut stored, mut asserted) = (Vec::new(), Vec::new());
        let read = rule.normalise(&schema, bytes, &mut stored);
        assert!(
            read.is_ok(),
            "a value that cannot be read is compared whole, or has no parts"
        );
        if rule
            .normalise_assertion(&schema, bytes, &mut asserted)
            .is_ok()
        {
            assert!(
                !asserted.is_empty(),
                "an assertion of nothing is true of everything"
            );
            certificate_parts::holds(&stored, &asserted);
        } else {
            assert!(asserted.is_empty(), "what is refused leaves nothing");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The committed seeds, and each with every byte changed once and cut everywhere.
    #[test]
    fn seeds_and_mutations() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/certificate");
        let mut seeds = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let seed = std::fs::read(file.unwrap().path()).unwrap();
            super::certificate(&seed);
            for at in 0..seed.len() {
                super::certificate(&seed[..at]);
                let mut changed = seed.clone();
                changed[at] = changed[at].wrapping_mul(7).wrapping_add(13);
                super::certificate(&changed);
            }
            seeds += 1;
        }
        assert!(seeds > 0, "no seeds");
    }
}
