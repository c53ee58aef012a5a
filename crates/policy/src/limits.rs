//! Limits on the requests of one subject.

use std::borrow::Cow;
use std::ops::Deref;

use schema::Name;

use crate::subject::{Subject, SubjectKind};

/// The limits of one subject. In every field 0 means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries that a search returns before sizeLimitExceeded; paged searches have two other
    /// limits.
    pub size_entries_max: u32,
    /// Milliseconds that a search takes before timeLimitExceeded.
    pub time_ms_max: u32,
    /// Candidates that a search reads before adminLimitExceeded.
    pub candidates_max: u64,
    /// Operations that wait on one connection before the next is answered `busy`.
    pub pending_operations_max: u32,
    /// Long unindexed searches of one subject at a time, over all connections.
    pub unindexed_searches_max: u32,
    /// Entries in one page of a paged search.
    pub page_entries_max: u32,
    /// Entries in all pages of a search together.
    pub paged_entries_max: u64,
    /// Entries sorted for one search where no ordering index helps.
    pub sort_entries_max: u32,
    /// Searches of one subject that follow the directory at a time, over all connections.
    pub followers_max: u32,
    /// Open transactions on one connection.
    pub transactions_open_max: u32,
    /// Updates in one transaction.
    pub transaction_updates_max: u32,
    /// Bytes of the updates of all open transactions of one connection.
    pub transaction_bytes_max: usize,
}

/// The subjects that a set of limits is for; [`LimitSettings::describe`] gives the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Every subject without limits of its own.
    Everybody,
    /// Connections on which nobody has authenticated.
    Anonymous,
    /// The administrator.
    Administrator,
    /// The subjects of a rule, by its index in the settings.
    Rule(usize),
}

/// The limits of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectLimits {
    /// The limits.
    pub limits: Limits,
    /// The subjects that the settings give them to.
    pub whose: Whose,
}

impl Deref for SubjectLimits {
    type Target = Limits;

    fn deref(&self) -> &Limits {
        &self.limits
    }
}

/// The subjects of a limit rule, by a name: resolved, or as spelled in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitSubject<N = Name> {
    /// One entry.
    Entry(N),
    /// All entries at or below a name.
    Subtree(N),
    /// The members of a group.
    Group(N),
}

/// Makes a subject of a name as spelled.
type MakeSubject = fn(String) -> LimitSubject<String>;

impl LimitSubject<String> {
    /// Names of the kinds of subjects in settings, each with the function that makes a subject.
    pub const KINDS: [(&str, MakeSubject); 3] = [
        ("entry", LimitSubject::Entry),
        ("subtree", LimitSubject::Subtree),
        ("group", LimitSubject::Group),
    ];

    /// The name of the kind of subject in settings, and the name as spelled.
    pub fn spelled(&self) -> (&'static str, &str) {
        match self {
            LimitSubject::Entry(name) => ("entry", name),
            LimitSubject::Subtree(name) => ("subtree", name),
            LimitSubject::Group(name) => ("group", name),
        }
    }

    /// Resolves the name; returns the resolved subject and the name as spelled.
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

/// The limits of some subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRule {
    /// The subjects of the rule.
    pub subject: LimitSubject,
    /// The name as spelled in the settings.
    pub spelled: String,
    /// The limits of the subjects.
    pub limits: Limits,
}

/// The limits as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Limits of every subject without other limits.
    pub everybody: Limits,
    /// Limits of connections on which nobody has authenticated.
    pub anonymous: Limits,
    /// Limits of the administrator.
    pub administrator: Limits,
    /// Limits of some subjects: the first rule for a subject counts.
    pub rules: Vec<LimitRule>,
    /// Time to live of dynamic entries.
    pub time_to_live: TimeToLive,
}

/// Seconds for which dynamic entries exist without being refreshed (RFC 2589).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeToLive {
    /// The time when the client requests none.
    pub default_s: u32,
    /// The least time; a smaller one is raised to it.
    pub min_s: u32,
    /// The greatest time; a greater one is refused, or lowered to this if it is a day or longer.
    pub max_s: u32,
}

impl LimitSettings {
    /// Returns the limits of `subject`, and whose they are. `is_member` tells whether it is in a
    /// group; it is called only for groups that rules name.
    pub fn of<E>(
        &self,
        subject: &Subject,
        mut is_member: impl FnMut(&Name) -> Result<bool, E>,
    ) -> Result<SubjectLimits, E> {
        let own = |limits, whose| Ok(SubjectLimits { limits, whose });
        let Some(name) = &subject.name else {
            return Ok(self.of_anonymous());
        };
        if subject.kind == SubjectKind::Administrator {
            return own(self.administrator, Whose::Administrator);
        }
        for (at, rule) in self.rules.iter().enumerate() {
            let meant = match &rule.subject {
                LimitSubject::Entry(one) => one == name,
                LimitSubject::Subtree(base) => name.is_within(base),
                LimitSubject::Group(group) => is_member(group)?,
            };
            if meant {
                return own(rule.limits, Whose::Rule(at));
            }
        }
        own(self.everybody, Whose::Everybody)
    }

    /// Returns whether membership in a group may decide which limits a subject has.
    pub fn depend_on_groups(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|it| matches!(it.subject, LimitSubject::Group(_)))
    }

    /// Returns the limits of a connection on which nobody has authenticated.
    pub fn of_anonymous(&self) -> SubjectLimits {
        SubjectLimits {
            limits: self.anonymous,
            whose: Whose::Anonymous,
        }
    }

    /// Returns the subjects of limits as text behind the word "for".
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
            let own = settings.of(&subject, member).expect("no trouble");
            let whose = settings.describe(own.whose).into_owned();
            (own.size_entries_max, whose)
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
        assert_eq!(anonymous, Ok(settings.of_anonymous()));
        let admin = nobody.administrator(
            name("cn=admin"),
            "cn=admin".to_owned(),
            Authentication::Simple,
        );
        let limits = settings.of(&admin, |_| Err("the administrator has its own"));
        let administrator = SubjectLimits {
            limits: settings.administrator,
            whose: Whose::Administrator,
        };
        assert_eq!(limits, Ok(administrator));
    }
}
