//! Runs the fuzz bodies over the committed corpora and over mutations of them.

use std::path::Path;

/// Mutations of each seed; all binary targets together take about a second without optimisation.
const MUTATIONS: usize = 400;

type Body = fn(&[u8]);

const TARGETS: &[(&str, Body)] = &[
    ("message", super::message),
    ("response", super::response),
    ("filter", super::filter),
    ("filter_text", super::filter_text),
    ("name", super::name),
    ("ldif", super::ldif),
    ("url", super::url),
    ("controls", super::controls),
    ("extended", super::extended),
    ("proxy", super::proxy),
];

/// The committed seeds of a target, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert!(!seeds.is_empty(), "{target} has no seeds");
    seeds
}

#[test]
fn committed_corpora() {
    for (target, body) in TARGETS {
        corpus(target).iter().for_each(|seed| body(seed));
    }
}

#[test]
fn valid_seeds_are_valid() {
    let limits = crate::DecodeLimits::default();
    for seed in corpus("message") {
        crate::Message::decode(&seed, &limits).unwrap();
    }
    for seed in corpus("response") {
        crate::ResponseMessage::decode(&seed).unwrap();
    }
}

#[test]
fn mutations() {
    for (target, body) in TARGETS {
        let seeds = corpus(target);
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for seed in &seeds {
            for _ in 0..MUTATIONS {
                let other = &seeds[random.below(seeds.len())];
                body(&mutated(seed, other, &mut random));
            }
        }
    }
}

/// One to four changes: a bit, an octet, an octet more or less, the end, or another seed's middle.
fn mutated(seed: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            2 if at < bytes.len() => bytes[at] = [0, 0x7F, 0x80, 0x81, 0xFF][random.below(5)],
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 => bytes.insert(at, random.below(256) as u8),
            5 => bytes.truncate(at),
            _ => {
                let (start, end) = (random.below(other.len() + 1), random.below(other.len() + 1));
                let piece = &other[start.min(end)..start.max(end)];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
    bytes
}

/// A xorshift generator: equal numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }
}
