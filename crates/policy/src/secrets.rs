//! Secret attribute types: passwords, and keys and hashes equivalent to passwords.
//!
//! A type is secret when one of these conditions holds for it or for a supertype:
//!
//! - its definition says `X-SECRET 'TRUE'`, as the standard schema does;
//! - one of its names is a well known name of a secret, whatever the origin of the definition;
//! - the configuration names it (`pandoSecretAttribute`).
//!
//! Only the administrator may search, sort, compare or read by a secret attribute. Hiding its
//! values is not enough, since an index would still find the entries of a guessed value: so
//! assertions about it are removed from filters before any index is read.

use schema::{AttributeType, Filter, Schema, Selector, TypeId};
use std::convert::Infallible;
use std::sync::Arc;

/// Attribute names under which products store passwords, keys and hashes. Their own schema files
/// mark none as secret.
const WELL_KNOWN: [&str; 51] = [
    // RFC 4519, RFC 3112, RFC 2307bis, draft-behera-ldap-password-policy.
    "userPassword",
    "authPassword",
    "nisSecretKey",
    "pwdHistory",
    // Samba, and the trusts of FreeIPA and Samba.
    "sambaNTPassword",
    "sambaLMPassword",
    "sambaPasswordHistory",
    "sambaClearTextPassword",
    "sambaPreviousClearTextPassword",
    "sambaTrustAuthIncoming",
    "sambaTrustAuthOutgoing",
    "ipaNTHash",
    "ipaNTTrustAuthIncoming",
    "ipaNTTrustAuthOutgoing",
    // MIT Kerberos, Heimdal. krbExtraData is private data of the KDC: it may contain the
    // configuration of one-time passwords and kadmin's data about former keys.
    "krbPrincipalKey",
    "krbMKey",
    "krbExtraData",
    "krbPwdHistory",
    "krb5Key",
    // Private keys of OpenLDAP's autoca overlay.
    "pKCS8PrivateKey",
    "cAPrivateKey",
    "userPrivateKey",
    // FreeRADIUS, ISC DHCP.
    "radiusTunnelPassword",
    "radiusClientSecret",
    "dhcpKeySecret",
    // One-time passwords: OpenLDAP's otp overlay, FreeIPA.
    "oathSecret",
    "oathHMACKey",
    "oathTOTPKey",
    "oathEncKey",
    "ipatokenOTPkey",
    "ipatokenRadiusSecret",
    "totpSecret",
    // Univention Corporate Server.
    "pwhistory",
    "univentionRadiusPassword",
    // Active Directory.
    "unicodePwd",
    "dBCSPwd",
    "ntPwdHistory",
    "lmPwdHistory",
    "supplementalCredentials",
    "initialAuthIncoming",
    "initialAuthOutgoing",
    "trustAuthIncoming",
    "trustAuthOutgoing",
    "ms-Mcs-AdmPwd",
    "msLAPS-Password",
    "msDS-ManagedPassword",
    // 389 Directory Server, eDirectory.
    "nsds5ReplicaCredentials",
    "nsmultiplexorcredentials",
    "nsSymmetricKey",
    "passwordHistory",
    "nspmPassword",
];

/// Parts of names, in lower case, that suggest a secret.
const LOOK_SECRET: [&str; 8] = [
    "passw",
    "pwd",
    "secret",
    "key",
    "hash",
    "credential",
    "token",
    "privat",
];

/// Syntaxes whose values are never secret, such as the time of a password's last change: Boolean,
/// DN, Generalized Time, INTEGER, UTC Time (RFC 4517 §3.3).
const PLAIN_SYNTAXES: [&str; 5] = [
    "1.3.6.1.4.1.1466.115.121.1.7",
    "1.3.6.1.4.1.1466.115.121.1.12",
    "1.3.6.1.4.1.1466.115.121.1.24",
    "1.3.6.1.4.1.1466.115.121.1.27",
    "1.3.6.1.4.1.1466.115.121.1.53",
];

/// The secret attribute types of one schema.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// Handles of the secret types, ascending.
    types: Arc<[TypeId]>,
    /// Whether a type, or one of its subtypes, is secret, by the handle of the type.
    covering: Arc<[bool]>,
}

impl Secrets {
    /// Returns the secret types of `schema`: marked, well known, or in `named`, with their
    /// subtypes.
    pub fn of(schema: &Schema, named: &[TypeId]) -> Secrets {
        let is_secret = |type_id: TypeId| {
            let known = schema.type_of(type_id);
            named.contains(&type_id)
                || known.definition.is_marked_secret()
                || known.names.iter().any(|name| is_well_known(name))
        };
        Secrets::collect(schema, is_secret)
    }

    /// Returns the same types and others, with their subtypes.
    pub(crate) fn with(&self, schema: &Schema, others: &[TypeId]) -> Secrets {
        Secrets::collect(schema, |it| self.contains(it) || others.contains(&it))
    }

    fn collect(schema: &Schema, is_secret: impl Fn(TypeId) -> bool) -> Secrets {
        let mut types = Vec::new();
        // Handles of removed types lie between those of types in force.
        let handles = schema
            .attribute_types()
            .map(|(it, _)| usize::from(it.0) + 1);
        let mut covering = vec![false; handles.max().unwrap_or(0)];
        for (type_id, _) in schema.attribute_types() {
            let line = || std::iter::successors(Some(type_id), |it| schema.type_of(*it).superior);
            if line().any(&is_secret) {
                types.push(type_id);
                for above in line() {
                    covering[usize::from(above.0)] = true;
                }
            }
        }
        types.sort();
        Secrets {
            types: types.into(),
            covering: covering.into(),
        }
    }

    /// Returns the handles of the secret types, ascending.
    pub fn types(&self) -> &[TypeId] {
        &self.types
    }

    /// Names of attribute types in use that are not secret although their names suggest it; sorted.
    /// Types of the standard schema are left out, since they have been reviewed.
    pub fn look_alikes(&self, schema: &Schema) -> Vec<String> {
        let standard = Schema::standard();
        let mut names: Vec<String> = schema
            .known_attributes()
            .filter(|it| !self.contains(it.type_id))
            .map(|it| schema.type_of(it.type_id))
            .filter(|it| standard.attribute_type(&it.oid).is_none() && looks_secret(it))
            .map(|it| it.name().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns whether a type is secret.
    pub fn contains(&self, type_id: TypeId) -> bool {
        self.covers(type_id) && self.types.binary_search(&type_id).is_ok()
    }

    /// Removes secret attributes from a filter: an assertion about one becomes undefined (RFC 4511
    /// §4.5.1.7), one about a supertype covers only its other subtypes.
    #[inline]
    pub fn conceal(&self, schema: &Schema, filter: &mut Filter) {
        if self.concern(filter) {
            self.take_out(schema, filter);
        }
    }

    #[inline]
    fn covers(&self, type_id: TypeId) -> bool {
        self.covering.get(usize::from(type_id.0)) == Some(&true)
    }

    /// Returns whether a filter has an assertion that may cover a secret. The depth of the filter
    /// bounds the recursion.
    fn concern(&self, filter: &Filter) -> bool {
        match filter {
            Filter::Equality(it)
            | Filter::GreaterOrEqual(it)
            | Filter::LessOrEqual(it)
            | Filter::Approx(it) => self.covers(it.selector.type_id),
            Filter::Substrings(it) => self.covers(it.selector.type_id),
            Filter::Present(it) => self.covers(it.type_id),
            Filter::Extensible(it) => it.selectors.iter().any(|it| self.covers(it.type_id)),
            Filter::And(parts) => parts.iter().any(|it| self.concern(it)),
            Filter::Or(parts) => parts.iter().any(|it| self.concern(it)),
            Filter::Not(part) => self.concern(part),
            Filter::Among(_)
            | Filter::Member(_)
            | Filter::True
            | Filter::False
            | Filter::Undefined(_) => false,
        }
    }

    #[cold]
    fn take_out(&self, schema: &Schema, filter: &mut Filter) {
        let left = match filter {
            Filter::Equality(it)
            | Filter::GreaterOrEqual(it)
            | Filter::LessOrEqual(it)
            | Filter::Approx(it) => self.narrow(schema, &mut it.selector),
            Filter::Substrings(it) => self.narrow(schema, &mut it.selector),
            Filter::Present(it) => self.narrow(schema, it),
            Filter::Extensible(it) => {
                it.selectors.retain_mut(|it| self.narrow(schema, it));
                !it.selectors.is_empty()
            }
            Filter::And(parts) => {
                parts.iter_mut().for_each(|it| self.take_out(schema, it));
                true
            }
            Filter::Or(parts) => {
                let Ok(()) = parts.try_change(|it| {
                    self.take_out(schema, it);
                    Ok::<(), Infallible>(())
                });
                true
            }
            Filter::Not(part) => {
                self.take_out(schema, part);
                // The negation is undefined, too; a plan would take it for all entries.
                !matches!(**part, Filter::Undefined(_))
            }
            Filter::Among(_)
            | Filter::Member(_)
            | Filter::True
            | Filter::False
            | Filter::Undefined(_) => true,
        };
        if !left {
            *filter = Filter::Undefined("the attribute is secret".to_owned());
        }
    }

    /// Removes secret subtypes from a selector; `false` when the asserted type itself is secret.
    fn narrow(&self, schema: &Schema, selector: &mut Selector) -> bool {
        let is_secret = |number| {
            let known = schema.known(number);
            known.is_some_and(|it| self.contains(it.type_id))
        };
        selector.numbers.retain(|number| !is_secret(*number));
        !self.contains(selector.type_id)
    }
}

/// Returns whether the name of an attribute type suggests that its values are passwords, keys, or
/// hashes of them, and its syntax allows that. A public key is no secret.
pub fn looks_secret(it: &AttributeType) -> bool {
    if PLAIN_SYNTAXES.contains(&it.syntax.oid) {
        return false;
    }
    it.names.iter().any(|name| {
        let name = name.to_ascii_lowercase();
        let public = name.contains("public") || name.contains("keyword");
        !public && LOOK_SECRET.iter().any(|part| name.contains(part))
    })
}

fn is_well_known(name: &str) -> bool {
    WELL_KNOWN.iter().any(|it| it.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::DefinitionKind;

    #[test]
    fn the_standard_schema_marks_what_is_well_known() {
        let schema = Schema::standard();
        for (_, it) in schema.attribute_types() {
            let known = it.names.iter().any(|name| is_well_known(name));
            assert_eq!(it.definition.is_marked_secret(), known, "{}", it.name());
        }
        let secrets = Secrets::of(&schema, &[]);
        assert!(secrets.types().len() >= 15, "{secrets:?}");
    }

    /// A removed definition keeps its handle, so handles may exceed the number of definitions.
    #[test]
    fn handles_may_lie_behind_those_of_types_that_are_gone() {
        let with = |text: &str| {
            let definition = schema::parse_definition(DefinitionKind::AttributeType, text);
            let standard = Schema::standard();
            standard.extended(&[definition.unwrap()]).unwrap()
        };
        let before = with("( 1.3.6.1.4.1.32473.1 NAME 'shade' SUP name )");
        let after = with("( 1.3.6.1.4.1.32473.2 NAME 'pin' SUP name X-SECRET 'TRUE' )");
        let after = after.with_handles_of(&before).unwrap();
        let secrets = Secrets::of(&after, &[]);
        assert!(secrets.contains(after.attribute_type("pin").unwrap()));
    }

    #[test]
    fn subtypes_are_secret_and_supertypes_are_not() {
        let schema = Schema::standard();
        let of = |name: &str| schema.attribute_type(name).unwrap();
        let secrets = Secrets::of(&schema, &[of("cn")]);
        assert!(secrets.contains(of("cn")) && !secrets.contains(of("sn")));
        assert!(!secrets.contains(of("name")));
        let secrets = Secrets::of(&schema, &[of("name")]);
        assert!(secrets.contains(of("cn")) && secrets.contains(of("sn")));
    }
}
