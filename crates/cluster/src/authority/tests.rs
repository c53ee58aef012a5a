//! Tests of the authority and its certificates.

use super::*;

/// Some day in 2027.
const NOW: Duration = Duration::from_secs(1_800_000_000);
const NODE: NodeId = NodeId([7; 16]);

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn found(seed: u8) -> Authority {
    Authority::found(ClusterId([seed; 16]), NOW).unwrap()
}

fn serves(root: &Root, issued: &Issued, name: &str, at: Duration) -> bool {
    let der = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
    root.is_issuer_of(&der, name, at)
}

#[test]
fn a_certificate_names_the_node_and_where_it_is() {
    let authority = found(1);
    let at = address("ldap1.example.com:8390");
    let issued = authority.issue(NODE, &at, None, NOW).unwrap();
    let own = node_name(NODE);
    for name in [
        ANY_NODE,
        &own,
        "ldap1.example.com",
        "localhost",
        "127.0.0.1",
        "::1",
    ] {
        assert!(serves(authority.root(), &issued, name, NOW), "{name}");
    }
    for name in [
        "ldap2.example.com",
        "127.0.0.2",
        &node_name(NodeId([8; 16])),
    ] {
        assert!(!serves(authority.root(), &issued, name, NOW), "{name}");
    }
    // The certificate is the authority's, not that of another of the same name.
    assert!(!serves(found(1).root(), &issued, ANY_NODE, NOW));
    let v6 = authority.issue(NODE, &address("[2001:db8::1]:1"), None, NOW);
    assert!(serves(authority.root(), &v6.unwrap(), "2001:db8::1", NOW));
}

#[test]
fn certificates_last_two_years_and_the_authority_twenty() {
    let authority = found(1);
    let issued = authority.issue(NODE, &address("a:1"), None, NOW).unwrap();
    let (year, root) = (365 * DAY, authority.root());
    // A node whose clock is behind takes it too.
    assert!(serves(root, &issued, ANY_NODE, NOW - DAY / 2));
    assert!(serves(root, &issued, ANY_NODE, NOW + 2 * year - DAY));
    assert!(!serves(root, &issued, ANY_NODE, NOW + 2 * year + DAY));
    let late = authority.issue(NODE, &address("a:1"), None, NOW + 19 * year);
    assert!(serves(root, &late.unwrap(), ANY_NODE, NOW + 19 * year));
}

#[test]
fn a_certificate_is_due_in_its_last_third_or_when_the_node_has_moved() {
    let authority = found(1);
    let at = address("a.example:1");
    let issued = authority.issue(NODE, &at, None, NOW).unwrap();
    let third = NODE_VALID / 3;
    let due = |at: &Address, now| authority.is_due(&issued.certificate, NODE, at, now);
    assert!(!due(&at, NOW));
    assert!(!due(&at, NOW + 2 * third - DAY));
    assert!(due(&at, NOW + 2 * third + DAY));
    assert!(due(&address("b.example:1"), NOW));
    assert!(authority.is_due("no certificate", NODE, &at, NOW));
    assert!(found(1).is_due(&issued.certificate, NODE, &at, NOW));
    // The key stays, so that files of certificate and key fit at every moment of a renewal.
    let again = authority.issue(NODE, &at, Some(&issued.key), NOW + NODE_VALID);
    assert_eq!(again.unwrap().key, issued.key);
}

#[test]
fn an_authority_is_read_from_its_files() {
    let authority = found(1);
    let again = Authority::load(ClusterId([1; 16]), authority.pem(), &authority.key_pem()).unwrap();
    assert_eq!(again.root().fingerprint(), authority.root().fingerprint());
    let issued = again.issue(NODE, &address("a:1"), None, NOW).unwrap();
    assert!(serves(authority.root(), &issued, ANY_NODE, NOW));

    let other = Authority::load(ClusterId([1; 16]), authority.pem(), &found(1).key_pem()).unwrap();
    let refused = other.issue(NODE, &address("a:1"), None, NOW).err().unwrap();
    assert!(
        refused
            .to_string()
            .contains("does not belong to its certificate")
    );
    let refused = Authority::load(ClusterId([1; 16]), "", "").unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("expected an authority's certificate")
    );
}
