//! Runs each fuzz body over a small corpus and over mutations of it, which are equal in every run.

use super::*;

const MUTATIONS: usize = 400;

const NAMES: &[&str] = &[
    "",
    "cn=Babs Jensen,ou=people,dc=example,dc=com",
    r#"CN="Sales, and more"+ou = x ; OID.2.5.4.3=#04024869"#,
    r"cn=\20a\,b\ \ ,dc=Lu\C4\8Di\C4\87",
    r"cn=a\+b+sn=\#1,o=a=b",
];

const FILTERS: &[&str] = &[
    "uid=ada",
    "(&(objectClass=person)(|(sn=J*ns*n)(!(cn=*)))(a>=1)(b<=2)(c~=d))",
    "(sn:dn:2.4.6.8.10:=Barney \\2a Rubble)",
    "( | (a=\\ff\\00) (b=*x**y*) )",
];

const URLS: &[&str] = &[
    "ldap://ldap.example.com:6666/o=University%20of%20M,c=US?cn,sn?sub?(cn=B%20J)?!x=a%2cb,y",
    "ldapi://%2frun%2fldapi/????z",
    "ldaps://[2001:db8::1]/dc=x??one",
];

const LDIFS: &[&str] = &[
    "version: 1\n# comment\n goes on\ndn: cn=a,dc=x\ncn: a\ndescription:: w7xi\n ZXI=\n\
     sn: lo\n ng\n\n\n\
     dn:: Y249YixkYz14\r\ncn: b\r\nempty:\r\n\r\n# nothing\n\ndn: dc=x\nbroken\n\ndn: dc=y\ndc: y",
    "dn: cn=a\ncontrol: 1.2.3 true: v\ncontrol: 1.2.4\nchangetype: modify\nadd: cn\ncn: b\n-\n\
     delete: sn\n-\nreplace: x\nx:: AA==\n-\nincrement: y\ny: 1\n\ndn: cn=a\nchangetype: modrdn\n\
     newrdn: cn=c\ndeleteoldrdn: 1\nnewsuperior: dc=y\n\ndn: cn=c\nchangetype: delete\n\n\
     dn: cn=d\nchangetype: add\ncn: d\nurl:< file:///etc/motd\n",
];

#[test]
fn names_survive() {
    run(name, NAMES);
}

#[test]
fn filters_survive() {
    run(filter, FILTERS);
}

#[test]
fn urls_survive() {
    run(url, URLS);
}

#[test]
fn ldif_survives() {
    run(ldif, LDIFS);
}

fn run(body: fn(&[u8]), corpus: &[&str]) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for text in corpus {
        body(text.as_bytes());
        for end in 0..text.len() {
            body(&text.as_bytes()[..end]);
        }
        for _ in 0..MUTATIONS {
            body(&mutated(text.as_bytes(), &mut random));
        }
    }
}

/// Replaces, removes, doubles or inserts one to four bytes, mostly bytes with a meaning in the
/// grammar.
fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().max(1));
        let meaningful = b"\n\r :=,+;#\\\"*()<>&|!-?%/[]d0\0\xff\xc3";
        let byte = meaningful[random.below(meaningful.len())];
        match random.below(4) {
            0 if at < bytes.len() => bytes[at] = byte,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 if at < bytes.len() => bytes.insert(at, bytes[at]),
            _ => bytes.insert(at.min(bytes.len()), byte),
        }
    }
    bytes
}

/// Marsaglia's xorshift: equal mutations in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
