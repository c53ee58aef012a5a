//! An authority of certificates, run by OpenSSL's program: certificates, revocation lists and
//! responses of OCSP.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Folder, tools};

/// Settings of `openssl ca`: whatever is asked for is signed.
const SETTINGS: &str = "\
[ca]
default_ca = own
[own]
database = index.txt
serial = serial
crlnumber = crlnumber
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
default_days = 30
default_crl_days = 30
policy = any
copy_extensions = copy
unique_subject = no
x509_extensions = usual
[any]
organizationName = optional
organizationalUnitName = optional
commonName = optional
[usual]
basicConstraints = CA:FALSE
";

/// The authority, in a folder.
pub struct Authority {
    folder: Folder,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// A new authority; its certificate is `ca.pem`.
    pub fn new() -> Self {
        let folder = Folder::new();
        folder.write("settings", SETTINGS);
        folder.write("index.txt", "");
        folder.write("serial", "1000\n");
        folder.write("crlnumber", "01\n");
        let authority = Authority { folder };
        let usage = "keyUsage=critical,keyCertSign,cRLSign,digitalSignature";
        authority.openssl(&[
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-out",
            "ca.key",
        ]);
        authority.openssl(&[
            "req",
            "-x509",
            "-new",
            "-key",
            "ca.key",
            "-days",
            "30",
            "-subj",
            "/O=Kit/CN=CA",
            "-addext",
            usage,
            "-out",
            "ca.pem",
        ]);
        authority
    }

    /// Path of a file of the authority.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Issues `name.pem` with `name.key` for a subject such as `/O=Kit/CN=Ada`, and for
    /// alternative names such as `email:ada@example.com`.
    pub fn issue(&self, name: &str, subject: &str, names: &str) {
        let (key, asked) = (format!("{name}.key"), format!("{name}.csr"));
        let names = format!("subjectAltName={names}");
        self.openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-out", &key]);
        self.openssl(&[
            "req", "-new", "-key", &key, "-subj", subject, "-addext", &names, "-out", &asked,
        ]);
        let signed = format!("{name}.pem");
        self.ca(&["-notext", "-in", &asked, "-out", &signed]);
        // Readable by its owner only, as the server asks.
        self.run("chmod", &["600", &key]);
    }

    /// Revokes a certificate; the list is to be written anew.
    pub fn revoke(&self, name: &str) {
        self.ca(&["-revoke", &format!("{name}.pem")]);
    }

    /// Writes the revocation list.
    pub fn list(&self, file: &str) {
        self.ca(&["-gencrl", "-out", file]);
    }

    /// Writes a response of OCSP for a certificate, which is valid for a day.
    pub fn staple(&self, name: &str, file: &str) {
        let certificate = format!("{name}.pem");
        self.openssl(&[
            "ocsp",
            "-index",
            "index.txt",
            "-rsigner",
            "ca.pem",
            "-rkey",
            "ca.key",
            "-CA",
            "ca.pem",
            "-issuer",
            "ca.pem",
            "-cert",
            &certificate,
            "-ndays",
            "1",
            "-respout",
            file,
        ]);
    }

    fn ca(&self, args: &[&str]) {
        let begin = ["ca", "-batch", "-config", "settings"];
        self.openssl(&[&begin, args].concat());
    }

    fn openssl(&self, args: &[&str]) {
        self.run("openssl", args);
    }

    fn run(&self, program: &str, args: &[&str]) {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path());
        tools::run_command(&mut command, "").expect(0);
    }

    /// The folder of the authority.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
