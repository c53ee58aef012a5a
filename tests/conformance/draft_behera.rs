//! Password policies (draft-behera-ldap-password-policy-11): each clause adds a policy, and an
//! account that names it.

use protocol::Authentication;
use protocol::control::{
    PasswordPolicyError as Error, PasswordPolicyResponse as Response,
    PasswordPolicyWarning as Warning,
};

use crate::prelude::*;

/// The password of an account.
pub(crate) const PASSWORD: &str = "first-password";
/// Wrong passwords, all different: some servers count a repeated one only once.
const GUESSES: [&str; 2] = ["wrong", "false"];

pub(crate) fn clauses(book: &mut Book) {
    lockout(book);
    compare(book);
    locks_by_hand(book);
    expiry(book);
    must_change(book);
    changes(book);
    quality(book);
}

/// Adds a person with a password, under a policy with these settings.
pub(crate) fn account(it: &mut Case<'_>, settings: &[(&str, &str)]) -> Result<String, Finding> {
    let mut attributes = vec![
        ("objectClass", "device"),
        ("objectClass", "pwdPolicy"),
        ("pwdAttribute", "userPassword"),
    ];
    attributes.extend(settings);
    let policy = it.put("cn=policy", &attributes)?;
    it.person(
        "ada",
        &[("userPassword", PASSWORD), ("pwdPolicySubentry", &policy)],
    )
}

fn try_bind(it: &Case<'_>, name: &str, password: &str) -> Result<(Session, Outcome), Finding> {
    let mut session = it.session()?;
    let authentication = Authentication::Simple(password.as_bytes());
    let controls = [bare(oid::PASSWORD_POLICY, false)];
    let outcome = session.bind_with(3, name, authentication, &controls)?;
    Ok((session, outcome))
}

/// Decodes the password policy response control; the default without one.
fn said(outcome: &Outcome) -> Result<Response, Finding> {
    match outcome.control(oid::PASSWORD_POLICY) {
        None => Ok(Response::default()),
        Some(value) => Response::decode(value)
            .or_else(|error| Finding::wrong("a password policy response", error)),
    }
}

fn says_error(outcome: &Outcome, error: Error) -> Examined {
    let said = said(outcome)?.error;
    ensure(
        said == Some(error),
        format_args!("{error:?}"),
        format_args!("{said:?}"),
    )
}

/// Checks the control in a response about a locked account: the server may hide the lock.
fn says_locked(outcome: &Outcome) -> Examined {
    match outcome.control(oid::PASSWORD_POLICY) {
        Some(_) if said(outcome)?.error.is_some() => says_error(outcome, Error::AccountLocked),
        _ => Ok(()),
    }
}

/// Makes the password older than any policy allows.
pub(crate) fn age(it: &mut Case<'_>, name: &str) -> Examined {
    let old = [Modification::replace(
        "pwdChangedTime",
        &["20200101000000Z"],
    )];
    let controls = [bare(oid::RELAX_RULES, true)];
    it.admin()?.modify(name, &old, &controls)?.ok().map(|_| ())
}

fn section<'b>(book: &'b mut Book, number: &'static str) -> crate::Section<'b> {
    let needs = [Need::Control(oid::PASSWORD_POLICY)];
    book.section_needing("draft-behera", number, &needs)
}

const LOCKOUT: [(&str, &str); 2] = [("pwdLockout", "TRUE"), ("pwdMaxFailure", "2")];
/// Some 63 years in seconds, of which all but the first second are within the warning time.
pub(crate) const WARNING: [(&str, &str); 2] = [
    ("pwdMaxAge", "2000000000"),
    ("pwdExpireWarning", "1999999999"),
];

fn lockout(book: &mut Book) {
    let mut section = section(book, "7.6");
    section.clause(
        "failures-lock",
        "After pwdMaxFailure wrong passwords the right one is refused, with accountLocked if with \
         any error.",
        |it| {
            let ada = account(it, &LOCKOUT)?;
            for guess in GUESSES {
                let (_, outcome) = try_bind(it, &ada, guess)?;
                outcome.is(ResultCode::INVALID_CREDENTIALS)?;
            }
            let (_, outcome) = try_bind(it, &ada, PASSWORD)?;
            let outcome = outcome.is(ResultCode::INVALID_CREDENTIALS)?;
            says_locked(&outcome)
        },
    );
    section.clause(
        "a-success-begins-anew",
        "A right password makes the failures before it count no more.",
        |it| {
            let ada = account(it, &LOCKOUT)?;
            for password in ["wrong", PASSWORD, "false", PASSWORD] {
                let (_, outcome) = try_bind(it, &ada, password)?;
                outcome.is_one_of(&[ResultCode::SUCCESS, ResultCode::INVALID_CREDENTIALS])?;
            }
            it.bound(&ada, PASSWORD).map(|_| ())
        },
    );
    section.clause(
        "without-lockout-nothing-locks",
        "Without pwdLockout failures do not lock.",
        |it| {
            let ada = account(it, &[("pwdMaxFailure", "1")])?;
            for guess in GUESSES {
                try_bind(it, &ada, guess)?
                    .1
                    .is(ResultCode::INVALID_CREDENTIALS)?;
            }
            it.bound(&ada, PASSWORD).map(|_| ())
        },
    );
    section.clause(
        "a-reset-unlocks",
        "A password that an administrator sets unlocks the account.",
        |it| {
            let ada = account(it, &LOCKOUT)?;
            for guess in GUESSES {
                try_bind(it, &ada, guess)?;
            }
            it.bound(&ada, PASSWORD)
                .map_or(Ok(()), |_| Finding::wrong("a locked account", "a bind"))?;
            let change = [Modification::replace("userPassword", &["second-password"])];
            it.modify(&ada, &change)?.ok()?;
            it.bound(&ada, "second-password").map(|_| ())
        },
    );
}

/// Compares the account's password as the administrator, who requests the policy control.
fn try_compare(it: &mut Case<'_>, name: &str, password: &str) -> Result<Outcome, Finding> {
    let asked = [bare(oid::PASSWORD_POLICY, false)];
    let password = password.as_bytes();
    it.admin()?.compare(name, "userPassword", password, &asked)
}

fn compare(book: &mut Book) {
    let mut section = section(book, "8.1");
    section
        .clause(
            "failed-compares-lock",
            "Compares of wrong passwords are failures, too; of a locked account the right password \
             is compareFalse, with accountLocked if with any error.",
            |it| {
                let ada = account(it, &LOCKOUT)?;
                for guess in GUESSES {
                    try_compare(it, &ada, guess)?.is(ResultCode::COMPARE_FALSE)?;
                }
                let outcome = try_compare(it, &ada, PASSWORD)?;
                says_locked(&outcome.is(ResultCode::COMPARE_FALSE)?)?;
                let (_, outcome) = try_bind(it, &ada, PASSWORD)?;
                outcome.is(ResultCode::INVALID_CREDENTIALS).map(|_| ())
            },
        )
        .slapd("what slapd's rootdn compares is not held against policies");
    section.clause(
        "a-right-compare-begins-anew",
        "A compare of the right password makes the failures before it count no more.",
        |it| {
            let ada = account(it, &LOCKOUT)?;
            try_compare(it, &ada, "wrong")?.is(ResultCode::COMPARE_FALSE)?;
            try_compare(it, &ada, PASSWORD)?.is(ResultCode::COMPARE_TRUE)?;
            try_compare(it, &ada, "false")?.is(ResultCode::COMPARE_FALSE)?;
            it.bound(&ada, PASSWORD).map(|_| ())
        },
    );
    section
        .clause(
            "an-expired-password-is-compare-false",
            "A compare of an expired password is compareFalse, with passwordExpired.",
            |it| {
                let ada = account(it, &[("pwdMaxAge", "1000")])?;
                age(it, &ada)?;
                let outcome = try_compare(it, &ada, PASSWORD)?;
                says_error(
                    &outcome.is(ResultCode::COMPARE_FALSE)?,
                    Error::PasswordExpired,
                )
            },
        )
        .slapd("what slapd's rootdn compares is not held against policies");
}

fn locks_by_hand(book: &mut Book) {
    let mut section = section(book, "7.1");
    section.clause(
        "locked-for-good",
        "An account with pwdAccountLockedTime 000001010000Z is locked until that is taken away.",
        |it| {
            let ada = account(it, &[("pwdLockout", "TRUE")])?;
            let name = "pwdAccountLockedTime";
            let lock = [Modification::add(name, &["000001010000Z"])];
            it.modify(&ada, &lock)?.ok()?;
            let (_, outcome) = try_bind(it, &ada, PASSWORD)?;
            outcome.is(ResultCode::INVALID_CREDENTIALS)?;
            it.modify(&ada, &[Modification::delete(name, &[])])?.ok()?;
            it.bound(&ada, PASSWORD).map(|_| ())
        },
    );
    let before = [
        ("not-before-its-start", "pwdStartTime", "22000101000000Z"),
        ("not-after-its-end", "pwdEndTime", "20200101000000Z"),
    ];
    for (words, attribute, time) in before {
        section.clause(
            words,
            format_args!("A bind beyond {attribute} is refused."),
            move |it| {
                let ada = account(it, &[("pwdLockout", "TRUE")])?;
                let limit = [Modification::add(attribute, &[time])];
                it.modify(&ada, &limit)?.ok()?;
                let (_, outcome) = try_bind(it, &ada, PASSWORD)?;
                outcome.is(ResultCode::INVALID_CREDENTIALS).map(|_| ())
            },
        );
    }
}

fn expiry(book: &mut Book) {
    let mut section = section(book, "8.1.2");
    section.clause(
        "an-expired-password-is-refused",
        "A password older than pwdMaxAge is refused with passwordExpired.",
        |it| {
            let ada = account(it, &[("pwdMaxAge", "1000")])?;
            age(it, &ada)?;
            let (_, outcome) = try_bind(it, &ada, PASSWORD)?;
            let outcome = outcome.is(ResultCode::INVALID_CREDENTIALS)?;
            says_error(&outcome, Error::PasswordExpired)
        },
    );
    section.clause(
        "grace-authentications-are-counted",
        "An expired password is good for pwdGraceAuthNLimit binds, each saying how many are left.",
        |it| {
            let ada = account(it, &[("pwdMaxAge", "1000"), ("pwdGraceAuthNLimit", "2")])?;
            age(it, &ada)?;
            for left in [1, 0] {
                let outcome = try_bind(it, &ada, PASSWORD)?.1.ok()?;
                let warning = said(&outcome)?.warning;
                let expected = Some(Warning::GraceAuthenticationsRemaining(left));
                ensure(
                    warning == expected,
                    format_args!("{expected:?}"),
                    format_args!("{warning:?}"),
                )?;
            }
            let (_, outcome) = try_bind(it, &ada, PASSWORD)?;
            outcome.is(ResultCode::INVALID_CREDENTIALS).map(|_| ())
        },
    );
    section.clause(
        "a-password-that-expires-soon-warns",
        "Within pwdExpireWarning of its end a bind says for how many seconds the password is good.",
        |it| {
            let ada = account(it, &WARNING)?;
            age(it, &ada)?;
            let outcome = try_bind(it, &ada, PASSWORD)?.1.ok()?;
            match said(&outcome)?.warning {
                Some(Warning::TimeBeforeExpiration(1..=1_999_999_999)) => Ok(()),
                other => Finding::wrong("seconds until then", format_args!("{other:?}")),
            }
        },
    );
    section.clause(
        "no-control-is-sent-unasked",
        "Without the request control there is no response control.",
        |it| {
            let ada = account(it, &[("pwdMaxAge", "1000"), ("pwdExpireWarning", "1000")])?;
            let outcome = it.session()?.bind(&ada, PASSWORD)?.ok()?;
            let none = !outcome.has_control(oid::PASSWORD_POLICY);
            ensure(none, "no response control", "one")
        },
    );
}

fn must_change(book: &mut Book) {
    let mut section = section(book, "8.1.2.2");
    section.clause(
        "a-reset-password-must-be-changed",
        "After a reset under pwdMustChange a bind succeeds with changeAfterReset, and nothing but \
         a change of the password is allowed.",
        |it| {
            let ada = account(it, &[("pwdMustChange", "TRUE")])?;
            let reset = [
                Modification::replace("userPassword", &["reset-password"]),
                Modification::replace("pwdReset", &["TRUE"]),
            ];
            it.modify(&ada, &reset)?.ok()?;
            let (mut session, outcome) = try_bind(it, &ada, "reset-password")?;
            says_error(&outcome.ok()?, Error::ChangeAfterReset)?;
            let home = it.home()?;
            let found = session.search(&home, Scope::BaseObject, EVERYTHING, &[])?;
            found.is(ResultCode::INSUFFICIENT_ACCESS_RIGHTS)?;
            let change = [Modification::replace("userPassword", &["my-own-password"])];
            session.modify(&ada, &change, &[])?.ok()?;
            let mut session = it.bound(&ada, "my-own-password")?;
            session
                .search(&home, Scope::BaseObject, EVERYTHING, &[])?
                .ok()
                .map(|_| ())
        },
    );
}

/// Changes the account's password as its owner, by two modifications or one.
fn change(it: &mut Case<'_>, name: &str, changes: &[Modification]) -> Result<Outcome, Finding> {
    let mut session = it.bound(name, PASSWORD)?;
    session.modify(name, changes, &[bare(oid::PASSWORD_POLICY, false)])
}

fn to(password: &str) -> [Modification; 1] {
    [Modification::replace("userPassword", &[password])]
}

fn changes(book: &mut Book) {
    let mut section = section(book, "8.2");
    section.clause(
        "safe-modify-wants-the-old-password",
        "Under pwdSafeModify a change without the old password is refused.",
        |it| {
            let ada = account(it, &[("pwdSafeModify", "TRUE")])?;
            let outcome = change(it, &ada, &to("second-password"))?;
            let outcome = outcome.is(ResultCode::INSUFFICIENT_ACCESS_RIGHTS)?;
            says_error(&outcome, Error::MustSupplyOldPassword)
        },
    );
    section.clause(
        "safe-modify-with-the-old-password",
        "A change that deletes the old password and adds the new one brings the old one.",
        |it| {
            let ada = account(it, &[("pwdSafeModify", "TRUE")])?;
            let both = [
                Modification::delete("userPassword", &[PASSWORD]),
                Modification::add("userPassword", &["second-password"]),
            ];
            change(it, &ada, &both)?.ok()?;
            it.bound(&ada, "second-password").map(|_| ())
        },
    );
    section.clause(
        "users-may-be-kept-from-changing",
        "With pwdAllowUserChange FALSE a user's change is refused with passwordModNotAllowed.",
        |it| {
            let ada = account(it, &[("pwdAllowUserChange", "FALSE")])?;
            let outcome = change(it, &ada, &to("second-password"))?;
            let outcome = outcome.is(ResultCode::INSUFFICIENT_ACCESS_RIGHTS)?;
            says_error(&outcome, Error::PasswordModNotAllowed)
        },
    );
    section.clause(
        "a-new-password-is-too-young",
        "Before pwdMinAge has passed a change is refused with passwordTooYoung.",
        |it| {
            let ada = account(it, &[("pwdMinAge", "1000")])?;
            let outcome = change(it, &ada, &to("second-password"))?;
            let outcome = outcome.is(ResultCode::CONSTRAINT_VIOLATION)?;
            says_error(&outcome, Error::PasswordTooYoung)
        },
    );
    section.clause(
        "former-passwords-cannot-come-back",
        "A password of the last pwdInHistory ones is refused with passwordInHistory.",
        |it| {
            let ada = account(it, &[("pwdInHistory", "3")])?;
            change(it, &ada, &to("second-password"))?.ok()?;
            let mut session = it.bound(&ada, "second-password")?;
            let asked = [bare(oid::PASSWORD_POLICY, false)];
            let outcome = session.modify(&ada, &to(PASSWORD), &asked)?;
            let outcome = outcome.is(ResultCode::CONSTRAINT_VIOLATION)?;
            says_error(&outcome, Error::PasswordInHistory)
        },
    );
}

fn quality(book: &mut Book) {
    let mut section = section(book, "8.2.5");
    let rows = [
        (
            "too-short",
            ("pwdMinLength", "8"),
            "short",
            Error::PasswordTooShort,
        ),
        (
            "too-long",
            ("pwdMaxLength", "20"),
            "a-password-of-many-characters",
            Error::PasswordTooLong,
        ),
        (
            "hashed-cannot-be-checked",
            ("pwdMinLength", "8"),
            "{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr",
            Error::InsufficientPasswordQuality,
        ),
    ];
    for (words, setting, password, error) in rows {
        section.clause(
            words,
            format_args!("Under pwdCheckQuality 2 a password that is {words} is refused."),
            move |it| {
                let ada = account(it, &[("pwdCheckQuality", "2"), setting])?;
                let outcome = change(it, &ada, &to(password))?;
                let outcome = outcome.is(ResultCode::CONSTRAINT_VIOLATION)?;
                says_error(&outcome, error)
            },
        );
    }
    section.clause(
        "unchecked-when-not-asked-for",
        "Without pwdCheckQuality no length is asked for.",
        |it| {
            let ada = account(it, &[("pwdMinLength", "8")])?;
            change(it, &ada, &to("short"))?.ok().map(|_| ())
        },
    );
}
