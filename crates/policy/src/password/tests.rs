//! Test vectors from crypt(3), slappasswd, openssl and Python's hashlib, and damage to them.

use proptest::prelude::*;
use sha1::{Digest, Sha1};

use super::*;

const PASSWORD: &[u8] = b"correct horse";

/// Stored values of the password `correct horse`.
const VECTORS: &[&str] = &[
    "correct horse",
    "{CLEARTEXT}correct horse",
    "{SHA}L55TUjtiq8FBorTWAZ0jy6g129A=",
    "{SSHA}NSZEu/ZzEMKdBO5ESNEYml3qKRYBAgMEBQYHCA==",
    "{MD5}PLTnMmMfR+brlh80VUt83g==",
    "{SMD5}vPjZQdkpEUFwnJ1WNg63FAECAwQFBgcI",
    "{SHA256}QQTTb42iwlQ0n4WDZ5Pr4CngyVcGOjTJHC6SAxh7VjE=",
    "{SSHA256}CFsq5JPfiBQ0W3uR5Dnao+9mknEq9a739V+FPkJ6yjABAgMEBQYHCA==",
    "{SHA384}ArIKby67E2Cppg9M+QhXNj7UGcAisSFWfOX5HG45Zk+3j9YCNMSli1v8cUWumDKS",
    "{SSHA384}HifEba0mre/qPk1zTkOCivlXqCbKCMIHVZoLT2gNpUWAqKu82zF4HGxJGzZHrBafAQIDBAUGBwg=",
    "{SHA512}VraY3v7bWkNbY0r+MyC7rz/c2SC2xQOkRvx7endrKY1HnRumqLYXgI6wv1ec6aldZoNHvKtxSQhayTyyeZUZe\
        w==",
    "{SSHA512}ggObOJHDWCqgI5uFv/j9yDNYMvdTgt+Toj8d6cGrSG/e+E9GbH4DkQ8y5jY3NblhoGens+zNVX1mZaFy0qwR\
        wwECAwQFBgcI",
    "{CRYPT}$1$saltsalt$NuzA7WTAelpl95xgBGWN60",
    "{CRYPT}$5$saltstring$vc6YOOogU4kWVvwga8e9zTFgKcy4tb5LaPxIiPJzqEC",
    "{CRYPT}$5$rounds=10000$saltstringsaltst$ffO6RHJbzihHqETll0c/MLDJrGhQw9fAaO1LcVIStWB",
    "{CRYPT}$6$saltstring$.r0X7ub5wGR2v4Xz7svCIozfnlorFh19V89t8KC9Umd81uGhFgsyTRNyzQDXDIm17fFcR9z3\
        z7oBNdsyYBbtm/",
    "{CRYPT}$6$rounds=1400$anotherlongsalts$BIJq9mRCZh1kev4gsEFy0R5hLBKgZM.fwvpxgy31e6bRJqRdXTpSE8\
        TJFJysi3GwDPeX9bz4aZklq669D26ai0",
    "{CRYPT}$2a$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
    "{CRYPT}$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
    "{CRYPT}$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
    "{CRYPT}$y$j75$abcdefghijklmnop$1kKL1r02wT4HlcktLfzeoOHd1GFgv7Ay4JeEbqGj80B",
    "{CRYPT}$y$jB5$Fgh1aXkm3CwR7Mf4XyJ1z0$kAx984nkTV.9MyRNr7xjxudAe7f45JSu4NxtQj0hFh5",
    "{PBKDF2}1000$AAECAwQFBgcICQoLDA0ODw$ndhWw3a4srcTtr4HQFTLiKRlVuA",
    "{PBKDF2-SHA1}1000$AAECAwQFBgcICQoLDA0ODw$ndhWw3a4srcTtr4HQFTLiKRlVuA",
    "{PBKDF2-SHA256}1000$AAECAwQFBgcICQoLDA0ODw$yRTMTwbMbo9G0VfjobWqerzuuxe7BETNTErBbKKumGQ",
    "{PBKDF2-SHA512}1000$AAECAwQFBgcICQoLDA0ODw$Xpx07WjVx4vCIvrmBRj8uOoVVtGqJqtUv2J5bhizSQs7osCteF\
        7W4A61dZDqSIqQjO.dxO6p5FT/Uy7QRBXSXA",
    "{PKCS5S2}AAECAwQFBgcICQoLDA0OD/wLRC7YJrDwyPC1hivcdA1lVJ0iA8EV8Zotwnsqu+eY",
    "{CRYPT}$apr1$saltsalt$EGVZDNN6gOqijy.tv9axG/",
    "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$KV+NKkD0XyJPkE75n+VgxA\
        $0KLeYALnBB1wCzljoj7ZRL9tSG4MfRA2NV8mWvoyNQc",
    "{ARGON2I}$argon2i$v=19$m=4096,t=3,p=1$KV+NKkD0XyJPkE75n+VgxA\
        $0KLeYALnBB1wCzljoj7ZRL9tSG4MfRA2NV8mWvoyNQc",
    "{SSHA}98k4LrEZZWEd3StQOLt1FZsY5YQ6kPWy",
    "{APR1}liG75Pb7FJZmD2JSkE+sr3NhbHRzYWx0",
    "{BSDMD5}MzHHs2aN/vhc0SSImYlqy3NhbHRzYWx0",
    "{NT}CFC43211BA8DC470832267827CAC1407",
    "{NS-MTA-MD5}121c77516ae9a3545e259fc31ebb8db00123456789abcdef0123456789abcdef",
    "{CRYPT}$gy$j75$abcdefghijklmnop$5ajbgv/UanA5M5qJVWF5whKEQl5QwuhPGXEZ6W8eONC",
    "{GOST_YESCRYPT}$gy$jB5$Fgh1aXkm3CwR7Mf4XyJ1z0$zb6WRs8YD8r8OwGR6Q4hzb1ADk4FP3bS5qfVaPrW6XC",
    "{SCRAM-SHA-1}4096:AAECAwQFBgcICQoLDA0ODw==$2wGu+bKZ7zLh+iYzqvJq/NfiLx8=:UjWfJQyA9t0McY5I\
        IIiKTkidjZ0=",
    "{SCRAM-SHA-256}4096:AAECAwQFBgcICQoLDA0ODw==$yERwYmHlx0VrpoYfOn54hMTjBUKWnmK42IDjnWgQWkk\
        =:RQZr9F8QCYmmp35tAVzp0VB/kDwY283N+s24jDDliG4=",
    "{SCRAM-SHA-512}4096:AAECAwQFBgcICQoLDA0ODw==$ijXu9AeGoA6OaxGr9XUtdKVDZobAJMLENu4hyF9mGXN\
        SYlehOR7vkBUK6U93QYWVvW/66K4aO0YKWJbTdWOR+Q==:2dACpBo3sAbGKnd7JBfE0OCeAkKoUjP7H+XiZ1Y/FT\
        ut0R1EKPLQXaZTKRSLoBguD/maEGekHwykZkkvTXjZdA==",
    "{PBKDF2_SHA256}AAAIAAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM\
        0NTY3ODk6Ozw9Pj+OPAdLOzcpJWTx02zJjQRiugrHvGn232hA5qzOdMxW5h0lp19XE3d25OTB+hPEpt7ei7iRsVau\
        3fajhIwPe9P6Bq13NTOmNbVs0yotN8kFDlVSxPLEu00f2J+e9CVPF+ox+vIOTyLHh/RA7JoQRTgF0e0/0q5X0CSqw\
        a5I6pWjsA6jfqFN+uYeigLA4P7Y9PiZvtE1NLbsa/Tir0KZopiGEq04cjKBjwco0icfwCLfdSh4lu3hdAs/IFT2z3\
        Sp7sIUiWqy1gbvpi+9nJaUIBtMDcmGKIasqq9jApFrp9NckSRsGyyOw3pxHCiMBvoBC4LeiRh27cCfx0KUFKfCUlGZ",
];

#[test]
fn every_scheme_verifies_its_vector_and_nothing_else() {
    for stored in VECTORS {
        assert!(verify(stored.as_bytes(), PASSWORD), "{stored}");
        assert!(!verify(stored.as_bytes(), b"correct horsf"), "{stored}");
        assert!(!verify(stored.as_bytes(), b""), "{stored}");
        assert_eq!(
            is_hashed(stored.as_bytes()),
            !stored.contains(' '),
            "{stored}"
        );
    }
}

#[test]
fn published_vectors_of_old_schemes_are_right() {
    // The NT hashes of [MS-NLMP] §4.2.2.1.2, of nothing, and of characters beyond ASCII.
    for (stored, given) in [
        ("{NT}a4f49c406510bdcab6824ee7c30fd852", "Password"),
        ("{NT}8846f7eaee8fb117ad06bdd830b7586c", "password"),
        ("{nt}31d6cfe0d16ae931b73c59d7e0c089c0", ""),
    ] {
        assert!(verify(stored.as_bytes(), given.as_bytes()), "{stored}");
    }
    assert!(!verify(b"{NT}8846f7eaee8fb117ad06bdd830b7586", b"password"));
    assert!(!verify(b"{NT}8846f7eaee8fb117ad06bdd830b7586c", b"\xFF"));
    // libcrypt's results; only eight characters count.
    for (stored, given) in [
        ("{CRYPT}abhfCpXqd4GrI", &b"correct horse"[..]),
        ("{CRYPT}abhfCpXqd4GrI", b"correct battery"),
        ("{CRYPT}abmF1QH4PEr.E", b""),
        ("{CRYPT}./17m29LFAflg", b"secret"),
        ("{crypt}Zz3aQFWx4HIEg", b"p\xE9ssword\xFF"),
    ] {
        assert!(verify(stored.as_bytes(), given), "{stored}");
        assert!(is_des(stored.as_bytes()), "{stored}");
    }
    assert!(!verify(b"{CRYPT}abhfCpXqd4GrI", b"correcT horse"));
    assert!(!verify(b"{CRYPT}./17m29LFAflg", b"secret\0"));
    assert!(!verify(b"{CRYPT}./17m29LFAfl", b"secret") && !is_des(b"{CRYPT}./17m29LFAfl"));
    assert!(!is_des(b"{CRYPT}$1$saltsalt$") && !is_des(b"{SHA}abhfCpXqd4GrI"));
}

#[test]
fn scheme_names_are_read_in_any_case() {
    assert!(verify(b"{ssha}98k4LrEZZWEd3StQOLt1FZsY5YQ6kPWy", PASSWORD));
    assert!(verify(b"{Sha}L55TUjtiq8FBorTWAZ0jy6g129A=", PASSWORD));
}

#[test]
fn crypt_lengths_at_the_digest_boundaries() {
    let long = [b'x'; 70];
    for (stored, given) in [
        ("{CRYPT}$1$ab$rn6aQS/o7141mj179E/zA.", &b""[..]),
        ("{CRYPT}$1$$tfkQpLLTgAbss6O92sCcm1", &[b'a'; 40]),
        (
            "{CRYPT}$6$ab$pWR1UD3a0xtawrhzK7aur8QQZL8ZBygJ39zGZlWYnxHrKXcb.5/71jgiq9.sKi\
                ypHLphRR4.cdIV8Hw.AJziB/",
            &long,
        ),
        (
            "{CRYPT}$5$ab$iwaHr3xBKnAQnmfmsvbyjTCt1POYCzIKuI6pebchmD1",
            &long,
        ),
    ] {
        assert!(verify(stored.as_bytes(), given), "{stored}");
    }
}

#[test]
fn unknown_and_foreign_schemes_match_nothing() {
    for stored in [
        "{NOSUCH}secret",
        "{SASL}ada@EXAMPLE",
        "{CRYPT}ab01FAX.bQRSU",
        "{CRYPT}",
    ] {
        assert!(!verify(stored.as_bytes(), b"secret"), "{stored}");
        assert!(!verify(stored.as_bytes(), stored.as_bytes()), "{stored}");
    }
    assert!(is_hashed(b"{SASL}ada@EXAMPLE") && is_hashed(b"{K5KEY}"));
    assert_eq!(outside_user(b"{sasl}ada@EXAMPLE"), Some("ada@EXAMPLE"));
    assert_eq!(outside_user(b"{K5KEY}ada"), None);
    assert!(!is_hashed(b"{NOSUCH}secret"));
    assert!(!is_hashed(b"{SSHA}"));
    // Braces without a known scheme are part of a password.
    assert!(verify(b"{not a scheme}x", b"{not a scheme}x"));
    assert!(verify(b"{}x", b"{}x"));
}

#[test]
fn truncated_values_match_nothing() {
    for stored in VECTORS.iter().filter(|it| it.starts_with('{')) {
        let name_end = stored.find('}').unwrap() + 1;
        for end in 0..stored.len().min(name_end + 24) {
            assert!(
                !verify(&stored.as_bytes()[..end], b"correct horsf"),
                "{stored} to {end}"
            );
        }
    }
}

#[test]
fn empty_hashes_do_not_match_everything() {
    for stored in [
        "{SHA}",
        "{SSHA}",
        "{PBKDF2-SHA256}1000$AAECAwQFBgcICQoLDA0ODw$",
        "{PBKDF2_SHA256}AAAIAA==",
        "{PKCS5S2}AAECAwQFBgcICQoLDA0ODw==",
        "{CRYPT}$6$ab$",
        "{CRYPT}$1$ab$",
        "{CRYPT}$y$j75$abcdefghijklmnop$",
        "{ARGON2}$argon2id$v=19$m=4096,t=3,p=1$KV+NKkD0XyJPkE75n+VgxA$",
    ] {
        assert!(!verify(stored.as_bytes(), b""), "{stored}");
        assert!(!verify(stored.as_bytes(), b"x"), "{stored}");
    }
}

/// Pairs of a value beyond the bound of one parameter and a value at the bound.
const CEILINGS: [(&str, &str); 12] = [
    (
        "{PBKDF2-SHA256}2000001$AAEC$ndhWw3a4srcTtr4HQFTLiKRlVuA",
        "{PBKDF2-SHA256}2000000$AAEC$ndhW",
    ),
    // A key of two blocks takes twice the work.
    (
        "{PBKDF2-SHA1}1000001$AAEC$ndhWw3a4srcTtr4HQFTLiKRlVuAndhWw3a4srcTtr4HQFTLiKRlVuA",
        "{PBKDF2-SHA1}1000000$AAEC$ndhWw3a4srcTtr4HQFTLiKRlVuAndhWw3a4srcTtr4HQFTLiKRlVuA",
    ),
    ("{PBKDF2_SHA256}AIAAAAAA", "{PBKDF2_SHA256}AAAIAAAA"),
    (
        "{CRYPT}$5$rounds=1000001$ab$x",
        "{CRYPT}$5$rounds=1000000$ab$x",
    ),
    (
        "{CRYPT}$6$rounds=999999999$ab$x",
        "{CRYPT}$6$rounds=1000000$ab$x",
    ),
    (
        "{CRYPT}$2b$15$abcdefghijklmnopqrstuu",
        "{CRYPT}$2b$14$abcdefghijklmnopqrstuu",
    ),
    // The bound on N, then on t.
    (
        "{CRYPT}$y$jET$abcdefghijklmnop$x",
        "{CRYPT}$y$jDT$abcdefghijklmnop$x",
    ),
    (
        "{CRYPT}$y$j9T/.$abcdefghijklmnop$x",
        "{CRYPT}$y$j9T$abcdefghijklmnop$x",
    ),
    (
        "{ARGON2}$argon2id$v=19$m=262145,t=1,p=1$KV+NKkD0XyJPkE75n+VgxA$0KLeYALnBB",
        "{ARGON2}$argon2id$v=19$m=262144,t=4,p=1$KV+NKkD0XyJPkE75n+VgxA$0KLeYALnBB",
    ),
    (
        "{ARGON2}$argon2id$v=19$m=4096,t=257,p=1$KV+NKkD0XyJPkE75n+VgxA$0KLeYALnBB",
        "{ARGON2}$argon2id$v=19$m=4096,t=256,p=1$KV+NKkD0XyJPkE75n+VgxA$0KLeYALnBB",
    ),
    (
        "{ARGON2}$argon2id$v=19$m=4096,t=4294967295,p=1$KV+NKkD0XyJPkE75n+VgxA$0KLeYALnBB",
        "{ARGON2}$argon2id$v=19$m=4096,t=1,p=4294967295$KV+NKkD0XyJPkE75n+VgxA$0KLeYALnBB",
    ),
    (
        "{SCRAM-SHA-1}2000001:AAEC$2wGu+bKZ7zLh+iYzqvJq/NfiLx8=:UjWfJQyA9t0McY5IIIiKTkidjZ0=",
        "{SCRAM-SHA-1}2000000:AAEC$2wGu+bKZ7zLh+iYzqvJq/NfiLx8=:UjWfJQyA9t0McY5IIIiKTkidjZ0=",
    ),
];

#[test]
fn every_parameter_has_a_ceiling() {
    for (beyond, within) in CEILINGS {
        assert!(check(beyond.as_bytes()).is_err(), "{beyond}");
        assert_eq!(check(within.as_bytes()), Ok(()), "{within}");
        assert!(!verify(beyond.as_bytes(), PASSWORD), "{beyond}");
    }
    let beyond = CEILINGS[11].0.as_bytes();
    assert!(scram_keys(beyond, Prf::Sha1).is_none());
    let error = check(CEILINGS[5].0.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "expected at most 14 as cost of bcrypt, got 15");
    for stored in VECTORS {
        assert_eq!(check(stored.as_bytes()), Ok(()), "{stored}");
    }
}

#[test]
fn passwords_longer_than_the_longest_match_nothing() {
    let (longest, longer) = (
        vec![b'x'; PASSWORD_OCTETS_MAX],
        vec![b'x'; PASSWORD_OCTETS_MAX + 1],
    );
    for scheme in [Scheme::Ssha, Scheme::Sha512Crypt, Scheme::Cleartext] {
        let stored = hash(scheme, &longest).unwrap();
        assert_eq!(check(stored.as_bytes()), Ok(()));
        assert!(verify(stored.as_bytes(), &longest));
        assert!(matches!(hash(scheme, &longer), Err(HashError::TooLong(_))));
    }
    assert!(check(&longest).is_ok() && verify(&longest, &longest));
    assert!(check(&longer).is_err() && !verify(&longer, &longer));
    let clear = [b"{CLEARTEXT}", &longer[..]].concat();
    assert!(check(&clear).is_err() && !verify(&clear, &longer));
    let digest = Sha1::digest(&longer);
    let stored = format!("{{SHA}}{}", base64::encode(&digest));
    assert!(!verify(stored.as_bytes(), &longer));
    let long = ["{SSHA}", &"A".repeat(2_048)].concat();
    assert!(check(long.as_bytes()).is_err());
}

#[test]
fn many_rounds_are_for_short_passwords() {
    let (short, long) = (vec![b'x'; 191], vec![b'x'; 192]);
    let of = |given: &[u8]| crypt::hash_sha512(5_000, b"0123456789abcdef", given);
    // 5,000 rounds are few enough for a long password.
    let long_hash = of(&long).expect("a hash");
    assert!(verify(format!("{{CRYPT}}{long_hash}").as_bytes(), &long));
    assert!(crypt::is_bounded(1_000_000, short.len()) && crypt::is_bounded(5_000, 1_024));
    assert!(!crypt::is_bounded(1_000_001, long.len()));
}

#[test]
fn cost_is_known_before_verifying() {
    assert_eq!(cost(b"{SSHA}98k4LrEZZWEd3StQOLt1FZsY5YQ6kPWy"), Cost::Fast);
    assert_eq!(cost(b"{ssha512}x"), Cost::Fast);
    assert_eq!(cost(b"secret"), Cost::Fast);
    for slow in [
        "{ARGON2}x",
        "{CRYPT}$1$x",
        "{PBKDF2}x",
        "{PBKDF2_SHA256}x",
        "{PKCS5S2}x",
    ] {
        assert_eq!(cost(slow.as_bytes()), Cost::Slow);
    }
}

#[test]
fn every_new_scheme_makes_what_it_verifies() {
    for (scheme, name) in NEW_SCHEMES {
        assert_eq!(name.parse(), Ok(*scheme));
        assert_eq!(scheme.to_string(), *name);
        if matches!(scheme, Scheme::Pbkdf2Sha256 | Scheme::Pbkdf2Sha512) {
            // These take seconds without optimisation; the next test covers them.
            continue;
        }
        let stored = hash(*scheme, "péché".as_bytes()).unwrap();
        assert!(verify(stored.as_bytes(), "péché".as_bytes()), "{stored}");
        // Slow schemes take a tenth of a second each; their vectors cover the rest.
        if cost(stored.as_bytes()) == Cost::Fast {
            assert!(!verify(stored.as_bytes(), b"peche"), "{stored}");
            let again = hash(*scheme, "péché".as_bytes()).unwrap();
            assert_eq!(
                stored == again,
                *scheme == Scheme::Cleartext,
                "salts are random"
            );
        }
    }
    assert_eq!(
        "{SMD5}".parse::<Scheme>().unwrap_err().to_string(),
        "expected one of {ARGON2ID}, {ARGON2}, {BCRYPT}, {CRYPT}, {PBKDF2-SHA256}, \
         {PBKDF2-SHA512}, {SCRAM-SHA-256}, {SCRAM-SHA-512}, {SSHA}, {SSHA256}, {SSHA384}, \
         {SSHA512}, {CLEARTEXT}; got \"{SMD5}\""
    );
    assert!(hash(Scheme::Bcrypt, b"a\0b").is_err());
    assert!(hash(Scheme::Cleartext, b"\xff").is_err());
}

#[test]
fn pbkdf2_makes_what_it_verifies() {
    for prf in [Prf::Sha1, Prf::Sha256, Prf::Sha512] {
        let encoded = pbkdf2::hash(prf, 1_000, b"0123456789abcdef", PASSWORD);
        assert!(
            pbkdf2::verify(prf, encoded.as_bytes(), PASSWORD),
            "{encoded}"
        );
        assert!(
            !pbkdf2::verify(prf, encoded.as_bytes(), b"correct horsf"),
            "{encoded}"
        );
    }
}

#[test]
fn generated_passwords_are_long_and_different() {
    let password = generate_password(20).unwrap();
    assert_eq!(password.len(), 20);
    assert_ne!(password, generate_password(20).unwrap());
    assert!(password.bytes().all(|it| it.is_ascii_alphanumeric()));
    assert_eq!(generate_password(0).unwrap(), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_values_never_match_and_never_panic(
        which in 2..VECTORS.len(),
        at in 0usize..40,
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut stored = VECTORS[which].as_bytes().to_vec();
        let at = stored.iter().position(|it| *it == b'}').unwrap() + 1 + at;
        if cut {
            stored.truncate(at);
        } else if let Some(place) = stored.get_mut(at) {
            *place = byte;
        }
        prop_assert!(!verify(&stored, b"another password"));
    }
}
