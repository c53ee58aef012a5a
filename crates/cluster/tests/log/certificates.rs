//! Certificates of a test's own authority.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// An authority, and certificates that it has signed.
pub(crate) struct Certificates {
    /// Its certificate.
    pub(crate) authority: String,
    /// For etcd on loopback.
    pub(crate) server: Pair,
    /// For a node.
    pub(crate) node: Pair,
}

/// A certificate and its key, in PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Certificates {
    /// Makes all of them.
    pub(crate) fn make() -> Certificates {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = parameters.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(parameters, key);
        let pair = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let parameters = CertificateParams::new([name.to_owned()]).unwrap();
            let certificate = parameters.signed_by(&key, &issuer).unwrap().pem();
            let key = key.serialize_pem();
            Pair { certificate, key }
        };
        let (server, node) = (pair("127.0.0.1"), pair("node.example"));
        Certificates {
            authority,
            server,
            node,
        }
    }
}
