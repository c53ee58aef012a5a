//! Access directives of slapd as sites have them, to be imported.

use std::fmt::Write;

/// Number of groups, and of the rules of each kind about them.
pub const GROUPS: usize = 66;

/// Two hundred directives: passwords, parts of the tree for groups, names by patterns, entries by
/// filters, and what everybody may do in the end. `group_of` has the names of the groups.
pub fn imported(suffix: &str, group_of: impl Fn(usize) -> String) -> String {
    let mut text = format!("database mdb\nsuffix \"{suffix}\"\n");
    text.push_str("access to attrs=userPassword by self write by anonymous auth by * none\n");
    for n in 0..GROUPS {
        let (part, group) = (format!("ou=part{n},{suffix}"), group_of(n));
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "access to dn.subtree=\"{part}\" by group=\"{group}\" write by users read\n\
             access to dn.regex=\"^cn=([^,]+),ou=team{n},{suffix}$\" \
             by dn.exact,expand=\"uid=$1,{suffix}\" write by users read\n\
             access to dn.children=\"{part}\" filter=(cn=visitor{n}) attrs=mail,sn \
             by group=\"{group}\" read by self write by * none\n"
        );
    }
    text.push_str("access to * by self write by users read by * none\n");
    text
}
