//! Groups, collective attributes and referrals, as Debian's tools see them.

use kit::{SUFFIX, Subject};

use super::{ADA, EDSGER, GRACE, code, names};

const GROUPS: &str = "\
dn: cn=inner,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
cn: inner
member: uid=Ada,ou=People,dc=example,dc=com

dn: cn=outer,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
cn: outer
member: cn=inner,ou=Groups,dc=example,dc=com
member: uid=grace,ou=People,dc=example,dc=com

dn: cn=found,ou=Groups,dc=example,dc=com
objectClass: groupOfURLs
cn: found
memberURL: ldap:///ou=People,dc=example,dc=com??sub?(employeeNumber=1930)
";

#[test]
fn groups_are_told_and_followed() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    tools.add(GROUPS).expect(code::SUCCESS);
    let groups = |name: &str, attribute: &str| {
        let answer = tools.search(&["-b", name, "-s", "base", "(objectClass=*)", attribute]);
        let text = answer.expect(code::SUCCESS).out;
        let prefix = format!("{attribute}: cn=");
        let lines = text.lines().filter_map(|line| line.strip_prefix(&*prefix));
        let mut found: Vec<String> = lines
            .map(|it| it.split(',').next().unwrap_or("").to_owned())
            .collect();
        found.sort();
        found
    };
    assert_eq!(groups(ADA, "memberOf"), ["inner"]);
    assert_eq!(groups(ADA, "isMemberOf"), ["inner", "outer"]);
    assert_eq!(groups(EDSGER, "isMemberOf"), ["found"]);
    let people = |filter: &str| {
        let all = names(&tools, &format!("(&(objectClass=person){filter})"));
        all.into_iter().collect::<Vec<_>>()
    };
    let outer = format!("cn=outer,ou=Groups,{SUFFIX}");
    assert_eq!(people(&format!("(memberOf={outer})")), [GRACE]);
    assert_eq!(people(&format!("(isMemberOf={outer})")), [ADA, GRACE]);
    let chain = "1.2.840.113556.1.4.1941";
    assert_eq!(
        people(&format!("(memberOf:{chain}:={outer})")),
        [ADA, GRACE]
    );
    assert_eq!(names(&tools, &format!("(member:{chain}:={ADA})")).len(), 2);
}

#[test]
fn subentries_lend_and_referrals_refer() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let ldif = "\
dn: cn=site,dc=example,dc=com
objectClass: subentry
objectClass: collectiveAttributeSubentry
cn: site
subtreeSpecification: { base \"ou=People\", minimum 1 }
c-l: Berlin

dn: ou=far,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ou: far
ref: ldap://far.example
";
    let _ = tools.run("ldapadd", &["-M"], ldif).expect(code::SUCCESS);
    let found = names(&tools, "(&(objectClass=person)(c-l=berlin))");
    assert_eq!(found, [ADA, EDSGER, GRACE]);
    let below = format!("cn=x,ou=far,{SUFFIX}");
    let referred = tools.search(&["-b", &below, "-s", "one"]);
    referred
        .expect(10)
        .says("ldap://far.example/cn=x,ou=far,dc=example,dc=com??one");
    let managed = tools.search(&["-M", "-b", &format!("ou=far,{SUFFIX}"), "-s", "base"]);
    managed.expect(code::SUCCESS);
}
