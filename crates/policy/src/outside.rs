//! Passwords that another program knows, as values `{SASL}user` of an entry say.

/// A program that verifies passwords.
pub trait OutsidePasswords: Send + Sync {
    /// Whether the password of a user, `name` or `name@realm`, is right; false also if that cannot
    /// be found out. May block for seconds.
    fn verify(&self, user: &str, password: &[u8]) -> bool;
}

/// No program: every password is wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOutsidePasswords;

impl OutsidePasswords for NoOutsidePasswords {
    fn verify(&self, _user: &str, _password: &[u8]) -> bool {
        false
    }
}
