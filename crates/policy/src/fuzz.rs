//! Fuzz bodies: any bytes may come and nothing panics. The fuzz targets are one call each.

pub use crate::password::fuzz::password;

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Every seed, every seed cut, and every seed with each byte damaged, in turn.
    #[test]
    fn the_corpus_of_passwords() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/password");
        let mut seeds = 0;
        for file in std::fs::read_dir(folder).expect("a corpus") {
            let seed = std::fs::read(file.expect("a file").path()).expect("readable");
            super::password(&seed);
            for at in 0..seed.len() {
                super::password(&seed[..at]);
                let mut damaged = seed.clone();
                for bits in [0x01, 0x80, 0xff] {
                    damaged[at] = seed[at] ^ bits;
                    super::password(&damaged);
                }
            }
            seeds += 1;
        }
        assert!(seeds > 0, "no seeds");
    }
}
