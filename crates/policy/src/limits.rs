//! How much one subject may ask for at a time.

use std::borrow::Cow;

use schema::Name;

use crate::subject::{Subject, SubjectKind};

/// The limits one subject works under. In every field 0 means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries one search returns before sizeLimitExceeded; paged searches have two limits of
    /// their own.
    pub size_entries_max: u32,
    /// Milliseconds one search may take before timeLimitExceeded.
    pub time_ms_max: u32,
    /// Candidates one search may look at before adminLimitExceeded.
    pub candidates_max: u64,
    /// Operations one connection may have waiting before the next is answered `busy`.
    pub pending_operations_max: u32,
    /// Long searches that no index helps one subject may have at a time, over all connections.
    pub unindexed_searches_max: u32,
    /// Entries one page of a paged search may hold.
    pub page_entries_max: u32,
    /// Entries that all pages of a search may hold together.
    pub paged_entries_max: u64,
    /// Entries sorted for one search where no ordering index helps; 0 = no limit.
    pub sort_entries_max: u32,
    /// Searches that follow the directory one subject may have at a time, over all connections.
    pub followers_max: u32,
    /// Transactions one connection may have open.
    pub transactions_open_max: u32,
    /// Updates one transaction may have.
    pub transaction_updates_max: u32,
    /// Bytes that the updates of all open transactions of one connection may take.
    pub transaction_bytes_max: usize,
}

/// For whom limits were made; [`LimitSettings::describe`] has the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Every subject without limits of its own.
    Everybody,
    /// Nobody has authenticated.
    Anonymous,
    /// The administrator.
    Administrator,
    /// Those whom a rule is for, by its place in the settings.
    Rule(usize),
}

/// Subjects that have limits of their own, by a name: resolved, or as it stands in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitSubject<N = Name> {
    /// One entry.
    Entry(N),
    /// Everybody at or below a name.
    Subtree(N),
    /// The members of a group.
    Group(N),
}

impl LimitSubject<String> {
    /// The same with its name resolved, and the name as it was spelled.
    pub fn resolve<E>(
        &self,
        resolve: impl FnOnce(&str) -> Result<Name, E>,
    ) -> Result<(LimitSubject, &str), E> {
        Ok(match self {
            LimitSubject::Entry(name) => (LimitSubject::Entry(resolve(name)?), name),
            LimitSubject::Subtree(name) => (LimitSubject::Subtree(resolve(name)?), name),
            LimitSubject::Group(name) => (LimitSubject::Group(resolve(name)?), name),
        })
    }
}

/// Limits of their own for some subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRule {
    /// Who they are for.
    pub subject: LimitSubject,
    /// The name as it stands in the settings.
    pub spelled: String,
    /// The limits.
    pub limits: Limits,
}

/// The limits as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// What holds for every subject that nothing else below is for.
    pub everybody: Limits,
    /// What holds while nobody has authenticated.
    pub anonymous: Limits,
    /// What holds for the administrator.
    pub administrator: Limits,
    /// What holds for some: the first rule that is for a subject counts.
    pub rules: Vec<LimitRule>,
    /// How long dynamic entries stay.
    pub time_to_live: TimeToLive,
}

/// How long dynamic entries stay without being refreshed (RFC 2589), in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeToLive {
    /// When the client asks for nothing.
    pub default_s: u32,
    /// The shortest: less is made so much.
    pub min_s: u32,
    /// The longest: more is refused, or made so much if that is a day or longer.
    pub max_s: u32,
}

impl LimitSettings {
    /// The limits that hold for `subject`. `is_member` tells whether it is in a group; it is asked
    /// only about groups that rules name.
    pub fn of<E>(
        &self,
        subject: &Subject,
        mut is_member: impl FnMut(&Name) -> Result<bool, E>,
    ) -> Result<(Limits, Whose), E> {
        let Some(name) = &subject.name else {
            return Ok((self.anonymous, Whose::Anonymous));
        };
        if subject.kind == SubjectKind::Administrator {
            return Ok((self.administrator, Whose::Administrator));
        }
        for (at, rule) in self.rules.iter().enumerate() {
            let meant = match &rule.subject {
                LimitSubject::Entry(one) => one == name,
                LimitSubject::Subtree(base) => name.is_within(base),
                LimitSubject::Group(group) => is_member(group)?,
            };
            if meant {
                return Ok((rule.limits, Whose::Rule(at)));
            }
        }
        Ok((self.everybody, Whose::Everybody))
    }

    /// For whom limits were made, in words that follow "for".
    pub fn describe(&self, whose: Whose) -> Cow<'static, str> {
        let rule = match whose {
            Whose::Everybody => return Cow::Borrowed("authenticated clients"),
            Whose::Anonymous => return Cow::Borrowed("anonymous clients"),
            Whose::Administrator => return Cow::Borrowed("the administrator"),
            Whose::Rule(at) => self.rules.get(at),
        };
        rule.map_or(Cow::Borrowed("this client"), |rule| {
            let spelled = &rule.spelled;
            Cow::Owned(match rule.subject {
                LimitSubject::Entry(_) => spelled.clone(),
                LimitSubject::Subtree(_) => format!("clients below {spelled}"),
                LimitSubject::Group(_) => format!("members of {spelled}"),
            })
        })
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        let everybody = Limits {
            size_entries_max: 5_000,
            time_ms_max: 60_000,
            candidates_max: 0,
            unindexed_searches_max: 10,
            pending_operations_max: 4_096,
            page_entries_max: 5_000,
            paged_entries_max: 0,
            sort_entries_max: 100_000,
            followers_max: 100,
            transactions_open_max: 100,
            transaction_updates_max: 10_000,
            transaction_bytes_max: 16 << 20,
        };
        LimitSettings {
            everybody,
            anonymous: everybody,
            administrator: Limits {
                size_entries_max: 0,
                time_ms_max: 0,
                candidates_max: 0,
                unindexed_searches_max: 0,
                pending_operations_max: 65_536,
                page_entries_max: 0,
                paged_entries_max: 0,
                sort_entries_max: 1_000_000,
                followers_max: 1_000,
                transactions_open_max: 1_000,
                transaction_updates_max: 100_000,
                transaction_bytes_max: 256 << 20,
            },
            rules: Vec::new(),
            time_to_live: TimeToLive {
                default_s: 86_400,
                min_s: 1,
                max_s: 31_557_600,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Authentication;
    use schema::Schema;

    #[test]
    fn the_first_rule_for_a_subject_holds() {
        let schema = Schema::standard();
        let name = |text: &str| schema.resolve_name(text).expect("a name");
        let rule = |subject, spelled: &str, size_entries_max| LimitRule {
            subject,
            spelled: spelled.to_owned(),
            limits: Limits {
                size_entries_max,
                ..LimitSettings::default().everybody
            },
        };
        let settings = LimitSettings {
            rules: vec![
                rule(LimitSubject::Entry(name("uid=ada,dc=a")), "uid=ada,dc=a", 1),
                rule(LimitSubject::Group(name("cn=g,dc=a")), "cn=g,dc=a", 2),
                rule(LimitSubject::Subtree(name("ou=s,dc=a")), "ou=s,dc=a", 3),
            ],
            ..LimitSettings::default()
        };
        let nobody = Subject::anonymous(None, false);
        let group = name("cn=g,dc=a");
        let of = |dn: &str, in_group: bool| {
            let subject = nobody.authenticated(name(dn), dn.to_owned(), Authentication::Simple);
            let member = |asked: &Name| Ok::<bool, ()>(in_group && *asked == group);
            let (limits, whose) = settings.of(&subject, member).expect("no trouble");
            (
                limits.size_entries_max,
                settings.describe(whose).into_owned(),
            )
        };
        let said = |size, whose: &str| (size, whose.to_owned());
        assert_eq!(of("UID=Ada,DC=A", true), said(1, "uid=ada,dc=a"));
        assert_eq!(of("uid=bob,dc=a", true), said(2, "members of cn=g,dc=a"));
        assert_eq!(
            of("uid=bob,ou=s,dc=a", true),
            said(2, "members of cn=g,dc=a")
        );
        assert_eq!(
            of("uid=bob,ou=s,dc=a", false),
            said(3, "clients below ou=s,dc=a")
        );
        assert_eq!(
            of("uid=bob,dc=a", false),
            said(5_000, "authenticated clients")
        );
        let anonymous = settings.of(&nobody, |_| Err("nobody is in no group"));
        assert_eq!(anonymous, Ok((settings.anonymous, Whose::Anonymous)));
        let admin = nobody.administrator(
            name("cn=admin"),
            "cn=admin".to_owned(),
            Authentication::Simple,
        );
        let limits = settings.of(&admin, |_| Err("the administrator has its own"));
        assert_eq!(limits, Ok((settings.administrator, Whose::Administrator)));
    }
}
