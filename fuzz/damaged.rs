//! The committed seeds of fuzz targets, for the tests of the crates that have their bodies: every
//! build runs them.

use std::path::Path;

/// Gives the body of a fuzz target every seed of its corpus, every seed cut, and every seed with
/// each byte damaged, in turn.
pub(super) fn run(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut seeds = 0;
    for file in std::fs::read_dir(folder.join(target)).expect("a corpus") {
        let seed = std::fs::read(file.expect("a file").path()).expect("readable");
        body(&seed);
        for at in 0..seed.len() {
            body(&seed[..at]);
            let mut damaged = seed.clone();
            for bits in [0x01, 0x80, 0xff] {
                damaged[at] = seed[at] ^ bits;
                body(&damaged);
            }
        }
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}
