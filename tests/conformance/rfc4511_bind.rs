//! RFC 4511 §4.2, §4.3 and RFC 4513: bind, unbind, the identity of a session.

use protocol::Authentication;

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    bind(book);
    sessions(book);
    unbind(book);
    anonymous(book);
    simple(book);
    sasl(book);
    plain_in_the_clear(book);
    rights(book);
}

fn bind(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.2");
    for version in [1, 4, 127] {
        section.clause(
            format_args!("version-{version}-is-refused"),
            format_args!("Version {version} is not 3: protocolError."),
            move |it| {
                let mut session = it.session()?;
                let nothing = Authentication::Simple(b"");
                let outcome = session.bind_with(version, "", nothing, &[])?;
                outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
            },
        );
    }
    section.clause(
        "unknown-mechanism",
        "A SASL mechanism that the server does not have is authMethodNotSupported.",
        |it| {
            let sasl = Authentication::Sasl {
                mechanism: "NO-SUCH-MECHANISM",
                credentials: None,
            };
            let outcome = it.session()?.bind_with(3, "", sasl, &[])?;
            outcome
                .is(ResultCode::AUTH_METHOD_NOT_SUPPORTED)
                .map(|_| ())
        },
    );
    section.clause(
        "unknown-authentication-choice",
        "An authentication choice that nobody defined is authMethodNotSupported or protocolError.",
        |it| {
            let mut session = it.session()?;
            let bind = constructed(0x60, &[integer(3), octets(""), tagged(0x8A, "")]);
            session.send_raw(&sequence(&[integer(1), bind]))?;
            let (_, event) = session.receive()?;
            let Event::Done(outcome) = event else {
                return Finding::wrong("a result", format_args!("{event:?}"));
            };
            let right = [
                ResultCode::AUTH_METHOD_NOT_SUPPORTED,
                ResultCode::PROTOCOL_ERROR,
            ];
            outcome.is_one_of(&right).map(|_| ())
        },
    );
    section.clause(
        "name-that-is-none",
        "A bind name that is no distinguished name is invalidDNSyntax or invalidCredentials.",
        |it| {
            let outcome = it.session()?.bind("no name", "x")?;
            let right = [
                ResultCode::INVALID_DN_SYNTAX,
                ResultCode::INVALID_CREDENTIALS,
            ];
            outcome.is_one_of(&right).map(|_| ())
        },
    );
    section.clause(
        "operations-work-without-a-bind",
        "A client may send operations before any bind.",
        |it| {
            let mut session = it.session()?;
            session
                .search("", Scope::BaseObject, EVERYTHING, &[])?
                .one()?;
            Ok(())
        },
    );
}

fn sessions(book: &mut Book) {
    let who = [Need::Extension(oid::WHO_AM_I)];
    let mut section = book.section_needing("rfc4511", "4.2.1", &who);
    section.clause(
        "bind-replaces-bind",
        "A later bind replaces the authorization of an earlier one.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let mut session = it.bound(&ada, "ada")?;
            equal_name(&session.who_am_i()?, &format!("dn:{ada}"))?;
            session.bind("", "")?.ok()?;
            equal(session.who_am_i()?.as_str(), "", "the identity")
        },
    );
    section.clause(
        "failed-bind-leaves-anonymous",
        "A bind that fails leaves the session anonymous.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let mut session = it.bound(&ada, "ada")?;
            session
                .bind(&ada, "wrong")?
                .is(ResultCode::INVALID_CREDENTIALS)?;
            equal(session.who_am_i()?.as_str(), "", "the identity")
        },
    );
    section.clause(
        "wrong-version-leaves-anonymous",
        "A bind refused for its version leaves the session anonymous.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let mut session = it.bound(&ada, "ada")?;
            let password = Authentication::Simple(b"ada");
            session
                .bind_with(9, &ada, password, &[])?
                .is(ResultCode::PROTOCOL_ERROR)?;
            equal(session.who_am_i()?.as_str(), "", "the identity")
        },
    );
    section.clause(
        "unknown-mechanism-leaves-anonymous",
        "A SASL bind that fails leaves the session anonymous.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let mut session = it.bound(&ada, "ada")?;
            let sasl = Authentication::Sasl {
                mechanism: "NO-SUCH-MECHANISM",
                credentials: None,
            };
            session.bind_with(3, "", sasl, &[])?.refused()?;
            equal(session.who_am_i()?.as_str(), "", "the identity")
        },
    );
}

fn unbind(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.3");
    section.clause(
        "unbind-closes",
        "Unbind has no response; the server closes the connection.",
        |it| {
            let mut session = it.session()?;
            session.send(&Request::Unbind, &[])?;
            match session.receive() {
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(()),
                other => Finding::wrong("an end of the session", format_args!("{other:?}")),
            }
        },
    );
}

fn anonymous(book: &mut Book) {
    let who = [Need::Extension(oid::WHO_AM_I)];
    let mut section = book.section_needing("rfc4513", "4", &who);
    section.clause(
        "sessions-begin-anonymous",
        "Before any bind, a session is anonymous.",
        |it| equal(it.session()?.who_am_i()?.as_str(), "", "the identity"),
    );
    let mut section = book.section_needing("rfc4513", "5.1.1", &who);
    section.clause(
        "anonymous-bind",
        "No name and no password is an anonymous bind.",
        |it| {
            let mut session = it.session()?;
            session.bind("", "")?.ok()?;
            equal(session.who_am_i()?.as_str(), "", "the identity")
        },
    );
    let mut section = book.section("rfc4513", "5.1.2");
    section.clause(
        "unauthenticated-bind-is-refused",
        "A name with an empty password is refused by default, with unwillingToPerform.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let outcome = it.session()?.bind(&ada, "")?;
            outcome.is(ResultCode::UNWILLING_TO_PERFORM).map(|_| ())
        },
    );
    section.clause(
        "unauthenticated-bind-is-refused-to-nobody",
        "The same for a name that nobody has: the answer tells nothing.",
        |it| {
            let nobody = format!("uid=nobody,{}", it.home()?);
            let outcome = it.session()?.bind(&nobody, "")?;
            outcome.is(ResultCode::UNWILLING_TO_PERFORM).map(|_| ())
        },
    );
}

fn simple(book: &mut Book) {
    let mut section = book.section("rfc4513", "5.1.3");
    section.clause("name-and-password", "A name and its password bind.", |it| {
        let ada = it.person("ada", &[("userPassword", "ada")])?;
        it.bound(&ada, "ada").map(|_| ())
    });
    let clause = section.clause(
        "either-of-two-passwords",
        "Each value of userPassword binds.",
        |it| {
            let two = [("userPassword", "one"), ("userPassword", "two")];
            let ada = it.person("ada", &two)?;
            it.bound(&ada, "one")?;
            it.bound(&ada, "two").map(|_| ())
        },
    );
    clause.slapd("slapd's ppolicy overlay, loaded here, allows one value");
    section.clause(
        "name-in-another-spelling",
        "The bind name is matched as a name, not as text.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            it.bound(&ada.to_uppercase(), "ada").map(|_| ())
        },
    );
    for (words, password) in [
        ("another-password", "x"),
        ("password-in-another-case", "ADA"),
        ("password-with-a-space", "ada "),
        ("part-of-the-password", "ad"),
    ] {
        section.clause(
            format_args!("{words}-is-refused"),
            "A wrong password is invalidCredentials, and matchedDN is empty.",
            move |it| {
                let ada = it.person("ada", &[("userPassword", "ada")])?;
                let outcome = it.session()?.bind(&ada, password)?;
                let outcome = outcome.is(ResultCode::INVALID_CREDENTIALS)?;
                equal(outcome.matched.as_str(), "", "matchedDN")
            },
        );
    }
    section.clause(
        "nothing-tells-a-missing-name-from-a-wrong-password",
        "A missing name, a name without password and a wrong password get the same answer.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let without = it.person("edsger", &[])?;
            let nobody = format!("uid=nobody,{}", it.home()?);
            let mut answers = Vec::new();
            for name in [&ada, &without, &nobody] {
                let outcome = it.session()?.bind(name, "x")?;
                let outcome = outcome.is(ResultCode::INVALID_CREDENTIALS)?;
                answers.push((outcome.matched, outcome.diagnostic));
            }
            answers.dedup();
            ensure(answers.len() == 1, "one answer to all three", &answers)
        },
    );
}

fn sasl(book: &mut Book) {
    let mut section = book.section("rfc4513", "5.2.1.1");
    section.clause(
        "mechanisms-are-read-from-the-root-dse",
        "A mechanism that is not listed is refused with authMethodNotSupported.",
        |it| {
            let mut session = it.session()?;
            let select = ["supportedSASLMechanisms"];
            let root = session
                .search("", Scope::BaseObject, EVERYTHING, &select)?
                .one()?;
            let listed = root.texts("supportedSASLMechanisms");
            if listed.iter().any(|it| it == "GSS-SPNEGO") {
                return Err(Finding::NotOffered(
                    "a mechanism that is not listed".to_owned(),
                ));
            }
            let sasl = Authentication::Sasl {
                mechanism: "GSS-SPNEGO",
                credentials: None,
            };
            let outcome = session.bind_with(3, "", sasl, &[])?;
            outcome
                .is(ResultCode::AUTH_METHOD_NOT_SUPPORTED)
                .map(|_| ())
        },
    );
    let mut section = book.section("rfc4513", "5.2.3");
    section.clause(
        "external-needs-an-outer-layer",
        "EXTERNAL without TLS or a local socket is refused.",
        |it| {
            let sasl = Authentication::Sasl {
                mechanism: "EXTERNAL",
                credentials: Some(b""),
            };
            let outcome = it.session()?.bind_with(3, "", sasl, &[])?;
            outcome.refused().map(|_| ())
        },
    );
}

/// Binds with PLAIN on an unprotected connection.
fn plain(it: &Case<'_>, credentials: &[u8]) -> Result<Outcome, Finding> {
    let sasl = Authentication::Sasl {
        mechanism: "PLAIN",
        credentials: Some(credentials),
    };
    it.session()?.bind_with(3, "", sasl, &[])
}

fn plain_in_the_clear(book: &mut Book) {
    let mut section = book.section("rfc4513", "5.2");
    section.clause(
        "plain-is-not-for-the-clear",
        "PLAIN without TLS is refused, whatever it brings.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            plain(it, format!("\0dn:{ada}\0ada").as_bytes())?.refused()?;
            plain(it, b"junk")?.refused().map(|_| ())
        },
    );
}

fn rights(book: &mut Book) {
    let mut section = book.section("rfc4513", "6.3");
    for operation in ["modify", "delete", "modify-dn", "add"] {
        section.clause(
            format_args!("{operation}-needs-the-right"),
            format_args!("A session without the right to {operation} is refused."),
            move |it| {
                let ada = it.person("ada", &[("userPassword", "ada")])?;
                let grace = it.person("grace", &[])?;
                let other = it.draft("uid=other", &person("other", &[]))?;
                let mut session = it.bound(&ada, "ada")?;
                let outcome = match operation {
                    "modify" => {
                        session.modify(&grace, &[Modification::add("title", &["x"])], &[])?
                    }
                    "delete" => session.delete(&grace, &[])?,
                    "modify-dn" => session.rename(&grace, "uid=x", true, None, &[])?,
                    _ => session.add(&other, &[])?,
                };
                outcome.is(ResultCode::INSUFFICIENT_ACCESS_RIGHTS)?;
                it.exists(&grace)
            },
        );
    }
    let mut section = book.section("rfc4513", "6.3.1");
    section.clause(
        "passwords-are-not-for-anonymous-eyes",
        "Nobody reads a userPassword anonymously.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let mut session = it.session()?;
            let found = session.search(&ada, Scope::BaseObject, EVERYTHING, &["*"])?;
            let open = found.entries.iter().any(|entry| entry.has("userPassword"));
            ensure(!open, "no userPassword", open)
        },
    );
}
