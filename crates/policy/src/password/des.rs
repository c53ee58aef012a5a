//! Traditional crypt(3): DES, changed by a salt of 12 bits, 25 times over zeros, with the first
//! eight characters of the password as its key. Bits stand in arrays: no library for ciphers can
//! exchange the bits of the expansion as the salt wants it, and speed does not matter here.

use subtle::ConstantTimeEq;

use super::crypt::ALPHABET;

/// Initial permutation (FIPS 46-3); bits count from 1.
const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6,
    64, 56, 48, 40, 32, 24, 16, 8, 57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61,
    53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];
/// Its inverse.
const FINAL: [u8; 64] = [
    40, 8, 48, 16, 56, 24, 64, 32, 39, 7, 47, 15, 55, 23, 63, 31, 38, 6, 46, 14, 54, 22, 62, 30,
    37, 5, 45, 13, 53, 21, 61, 29, 36, 4, 44, 12, 52, 20, 60, 28, 35, 3, 43, 11, 51, 19, 59, 27,
    34, 2, 42, 10, 50, 18, 58, 26, 33, 1, 41, 9, 49, 17, 57, 25,
];
/// Expansion of half a block.
const EXPANSION: [u8; 48] = [
    32, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17, 16, 17, 18,
    19, 20, 21, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32, 1,
];
/// Permutation of a round.
const PERMUTATION: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19,
    13, 30, 6, 22, 11, 4, 25,
];
/// First choice of the key's bits.
const CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60,
    52, 44, 36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29,
    21, 13, 5, 28, 20, 12, 4,
];
/// Second choice of the key's bits, in each round.
const CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52,
    31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
/// Bits by which both halves of the key rotate in each round.
const ROTATIONS: [usize; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
/// Substitutions: rows of sixteen, four for each of eight boxes.
const BOXES: [[u8; 64]; 8] = [
    [
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7, 0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12,
        11, 9, 5, 3, 8, 4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0, 15, 12, 8, 2, 4, 9,
        1, 7, 5, 11, 3, 14, 10, 0, 6, 13,
    ],
    [
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10, 3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1,
        10, 6, 9, 11, 5, 0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15, 13, 8, 10, 1, 3, 15,
        4, 2, 11, 6, 7, 12, 0, 5, 14, 9,
    ],
    [
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8, 13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5,
        14, 12, 11, 15, 1, 13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7, 1, 10, 13, 0, 6,
        9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12,
    ],
    [
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15, 13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2,
        12, 1, 10, 14, 9, 10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4, 3, 15, 0, 6, 10, 1,
        13, 8, 9, 4, 5, 11, 12, 7, 2, 14,
    ],
    [
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9, 14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15,
        10, 3, 9, 8, 6, 4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14, 11, 8, 12, 7, 1, 14,
        2, 13, 6, 15, 0, 9, 10, 4, 5, 3,
    ],
    [
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11, 10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13,
        14, 0, 11, 3, 8, 9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6, 4, 3, 2, 12, 9, 5,
        15, 10, 11, 14, 1, 7, 6, 0, 8, 13,
    ],
    [
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1, 13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5,
        12, 2, 15, 8, 6, 1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2, 6, 11, 13, 8, 1, 4,
        10, 7, 9, 5, 0, 15, 14, 2, 3, 12,
    ],
    [
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7, 1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6,
        11, 0, 14, 9, 2, 7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8, 2, 1, 14, 7, 4, 10,
        8, 13, 15, 12, 9, 0, 3, 5, 6, 11,
    ],
];

/// Returns whether data behind `{CRYPT}` have this form: two characters of salt and eleven of hash.
pub fn has_form(stored: &[u8]) -> bool {
    stored.len() == 13 && stored.iter().all(|it| ALPHABET.contains(it))
}

/// Returns whether `stored` was made from the password `given`, of which eight characters count.
pub fn verify(stored: &[u8], given: &[u8]) -> bool {
    let salt: Vec<usize> = stored
        .iter()
        .take(2)
        .filter_map(|it| ALPHABET.iter().position(|letter| letter == it))
        .collect();
    // A zero octet ends the password for C implementations, so it is refused.
    let (&[low, high], false) = (&salt[..], given.contains(&0)) else {
        return false;
    };
    if !has_form(stored) {
        return false;
    }
    hash(low | high << 6, given).ct_eq(&stored[2..]).into()
}

/// The eleven characters of hash.
fn hash(salt: usize, given: &[u8]) -> Vec<u8> {
    let mut expansion = EXPANSION;
    for bit in (0..12).filter(|bit| salt >> bit & 1 == 1) {
        expansion.swap(bit, bit + 24);
    }
    let keys = keys(given);
    let mut block = [0; 64];
    for _ in 0..25 {
        block = encrypt(&block, &keys, &expansion);
    }
    let bit = |at: usize| usize::from(block.get(at).copied().unwrap_or(0));
    let character = |at: usize| ALPHABET[(0..6).fold(0, |it, next| it << 1 | bit(6 * at + next))];
    (0..11).map(character).collect()
}

/// The keys of the rounds: of each octet of the password seven bits, the highest first.
fn keys(given: &[u8]) -> [[u8; 48]; 16] {
    let mut key = [0; 64];
    for (at, octet) in given.iter().take(8).enumerate() {
        for bit in 0..7 {
            key[8 * at + bit] = octet >> (6 - bit) & 1;
        }
    }
    let mut halves: [u8; 56] = chosen(&key, &CHOICE_1);
    ROTATIONS.map(|rotation| {
        let (left, right) = halves.split_at_mut(28);
        left.rotate_left(rotation);
        right.rotate_left(rotation);
        chosen(&halves, &CHOICE_2)
    })
}

fn encrypt(block: &[u8; 64], keys: &[[u8; 48]; 16], expansion: &[u8; 48]) -> [u8; 64] {
    let block: [u8; 64] = chosen(block, &INITIAL);
    let mut left: [u8; 32] = std::array::from_fn(|at| block[at]);
    let mut right: [u8; 32] = std::array::from_fn(|at| block[at + 32]);
    for key in keys {
        let expanded: [u8; 48] = chosen(&right, expansion);
        let mut substituted = [0; 32];
        for (at, substitution) in BOXES.iter().enumerate() {
            let bit = |of: usize| usize::from(expanded[6 * at + of] ^ key[6 * at + of]);
            let row = bit(0) << 1 | bit(5);
            let column = (1..5).fold(0, |it, of| it << 1 | bit(of));
            let value = substitution[16 * row + column];
            for of in 0..4 {
                substituted[4 * at + of] = value >> (3 - of) & 1;
            }
        }
        let permuted: [u8; 32] = chosen(&substituted, &PERMUTATION);
        let next = std::array::from_fn(|at| left[at] ^ permuted[at]);
        left = right;
        right = next;
    }
    // The last round does not exchange the halves.
    let both: [u8; 64] = std::array::from_fn(|at| match at {
        0..32 => right[at],
        _ => left[at - 32],
    });
    chosen(&both, &FINAL)
}

/// The bits that a table names, which counts from 1.
fn chosen<const N: usize>(bits: &[u8], table: &[u8; N]) -> [u8; N] {
    table.map(|it| bits[usize::from(it) - 1])
}
