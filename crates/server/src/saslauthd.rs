//! Asks saslauthd of Cyrus SASL whether a password is right, over its Unix socket.
//!
//! A question is four counted texts: user, password, service, realm; the answer is one, which
//! begins with `OK` if the password is right. A count is a number of two octets, the most
//! significant first.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use policy::outside::OutsidePasswords;

use crate::input::Input;

/// Time for the program to take a question, and time for it to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Name of the service in questions, which slapd gives, too: PAM has rules by this name.
const SERVICE: &str = "ldap";
/// Maximum length of an answer in octets.
const ANSWER_MAX: u16 = 1_024;

/// The program behind a socket.
#[derive(Debug)]
pub(crate) struct Saslauthd {
    socket: PathBuf,
    /// Whether the last question could not be asked, which was logged.
    in_trouble: AtomicBool,
}

impl Saslauthd {
    /// The program that listens on the socket at a path.
    pub fn at(socket: PathBuf) -> Saslauthd {
        Saslauthd {
            socket,
            in_trouble: AtomicBool::new(false),
        }
    }

    fn ask(&self, user: &str, password: &[u8]) -> io::Result<bool> {
        let question = question(user, password)?;
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&question)?;
        let mut count = [0; 2];
        stream.read_exact(&mut count)?;
        let count = u16::from_be_bytes(count);
        if count > ANSWER_MAX {
            let text = format!("expected an answer of at most {ANSWER_MAX} octets, got {count}");
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        let mut answer = vec![0; usize::from(count)];
        stream.read_exact(&mut answer)?;
        Ok(answer.starts_with(b"OK"))
    }
}

impl OutsidePasswords for Saslauthd {
    fn verify(&self, user: &str, password: &[u8]) -> bool {
        let asked = self.ask(user, password);
        let was_in_trouble = self.in_trouble.swap(asked.is_err(), Ordering::Relaxed);
        let socket = self.socket.display();
        match &asked {
            Err(error) if !was_in_trouble => {
                tracing::warn!(%error, "saslauthd at {socket} cannot be asked about passwords");
            }
            Ok(_) if was_in_trouble => {
                tracing::warn!("saslauthd at {socket} answers again");
            }
            Ok(_) | Err(_) => {}
        }
        asked.unwrap_or(false)
    }
}

/// The question, which is wiped when dropped. As in slapd, a realm stands behind the last `@`.
fn question(user: &str, password: &[u8]) -> io::Result<Input> {
    let (name, realm) = user.rsplit_once('@').unwrap_or((user, ""));
    let parts = [
        name.as_bytes(),
        password,
        SERVICE.as_bytes(),
        realm.as_bytes(),
    ];
    let mut question = Input::default();
    for part in parts {
        let count = u16::try_from(part.len());
        let count =
            count.map_err(|_| io::Error::new(ErrorKind::InvalidInput, "a text too long"))?;
        question.append(&count.to_be_bytes());
        question.append(part);
    }
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_question_has_user_password_service_and_realm() {
        let asked = question("ada@x@EXAMPLE.COM", b"secret").expect("short texts");
        assert_eq!(
            &*asked,
            b"\0\x05ada@x\0\x06secret\0\x04ldap\0\x0bEXAMPLE.COM"
        );
        let asked = question("ada", b"").expect("short texts");
        assert_eq!(&*asked, b"\0\x03ada\0\0\0\x04ldap\0\0");
        assert!(question("ada", &[0; 70_000]).is_err());
    }

    #[test]
    fn only_ok_is_right() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("mux");
        let saslauthd = Saslauthd::at(socket.clone());
        assert!(!saslauthd.verify("ada", b"secret"), "nobody listens");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let answers: [&[u8]; 6] = [
            b"\0\x02OK",
            b"\0\x02NO",
            b"\0\0",
            b"\xff\xffOK",
            b"\0\x05OK",
            b"",
        ];
        let server = std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut asked = [0; 21];
                stream.read_exact(&mut asked).expect("a question");
                stream.write_all(answer).expect("the client listens");
            }
        });
        let right = answers.map(|_| saslauthd.verify("ada", b"secret"));
        assert_eq!(right, [true, false, false, false, false, false]);
        server.join().expect("no panic");
    }
}
