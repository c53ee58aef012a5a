//! A node that speaks TLS: from the first byte on one port, on request (StartTLS) on another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Pando, process, tools};

/// A served node with a certificate of its own making.
pub struct Secure {
    /// The node. Its URL is the one for StartTLS.
    pub pando: Pando,
    /// The certificate to trust, as PEM.
    pub certificate: PathBuf,
    /// `ldaps://127.0.0.1:…`.
    pub url: String,
}

impl Secure {
    /// A node with an empty tree.
    pub fn start() -> Self {
        let mut pando = Pando::init();
        let certificate = make_certificate(&pando.node());
        let settings = "listen = [\"ldap://127.0.0.1:0\", \"ldaps://127.0.0.1:0\"]\n\
                        [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
        fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
        pando.serve_as_configured();
        let url = process::until("both listeners are announced", || {
            let log = pando.process().log();
            let (_, address) = log.split_once("listening on ldaps://")?;
            Some(format!("ldaps://{}", address.split_whitespace().next()?))
        });
        Secure {
            pando,
            certificate,
            url,
        }
    }
}

/// `server.pem`, a certificate for 127.0.0.1 signed by itself, and `server.key` in a folder.
fn make_certificate(folder: &Path) -> PathBuf {
    let args = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-keyout",
        "server.key",
        "-out",
        "server.pem",
    ];
    let mut openssl = Command::new("openssl");
    openssl.args(args).current_dir(folder);
    tools::run_command(&mut openssl, "").expect(0);
    folder.join("server.pem")
}
