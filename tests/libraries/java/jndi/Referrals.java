package jndi;

import static javax.naming.directory.DirContext.REPLACE_ATTRIBUTE;
import static javax.naming.directory.SearchControls.SUBTREE_SCOPE;
import static jndi.Site.name;
import static site.Expect.ADA;
import static site.Expect.EVA;
import static site.Expect.GROUPS;
import static site.Expect.PEOPLE;
import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;
import static site.Expect.raises;

import java.util.List;
import javax.naming.Context;
import javax.naming.NameNotFoundException;
import javax.naming.NamingEnumeration;
import javax.naming.ReferralException;
import javax.naming.directory.SearchControls;
import javax.naming.directory.SearchResult;
import javax.naming.ldap.LdapContext;
import javax.naming.ldap.LdapReferralException;

/** The three ways in which JNDI treats referrals. */
public final class Referrals {
    private static final String FILTER = "(|(uid=ada)(ou=Groups))";

    private static void thrown(String here, String there) throws Exception {
        LdapContext context = Site.admin(here, Context.REFERRAL, "throw");
        ReferralException referral = raisesReferral(() -> context.getAttributes(name(ADA)));
        equal("URL", referral.getReferralInfo(), there + "/" + ADA + "??base");
        // The request continues at the server that the exception names.
        LdapContext elsewhere = (LdapContext) referral.getReferralContext();
        equal("ada", elsewhere.getAttributes("").get("sn").get(), "ada");
        SearchControls how = new SearchControls();
        how.setSearchScope(SUBTREE_SCOPE);
        NamingEnumeration<SearchResult> found = context.search(name(SUFFIX), FILTER, how);
        equal("entry", found.next().getNameInNamespace(), GROUPS);
        ReferralException reference = raisesReferral(found::hasMore);
        equal("URL", reference.getReferralInfo(), there + "/" + PEOPLE + "??sub");
    }

    /** The provider throws a class of its own. */
    private static ReferralException raisesReferral(site.Expect.Call call) throws Exception {
        try {
            throw new AssertionError("expected a referral, came " + call.run());
        } catch (LdapReferralException referral) {
            return referral;
        }
    }

    private static void followed(String here) throws Exception {
        LdapContext context = Site.admin(here, Context.REFERRAL, "follow");
        equal("ada", Site.value(context, ADA, "sn"), "ada");
        Site.modify(context, ADA, Site.change(REPLACE_ATTRIBUTE, "sn", "Byron"));
        equal("ada", Site.value(context, ADA, "sn"), "Byron");
        List<String> found = Site.search(context, SUFFIX, SUBTREE_SCOPE, FILTER);
        holds("both servers' entries: " + found, found.contains(GROUPS)
                && found.stream().anyMatch(it -> it.endsWith(ADA)) && found.size() == 2);
        context.createSubcontext(
                name(EVA), Site.entry("objectClass: inetOrgPerson", "cn: Eva", "sn: Eva"));
        context.destroySubcontext(name(EVA));
    }

    /** Ignoring referrals is the default, and sends ManageDsaIT. */
    private static void ignored(String here) throws Exception {
        LdapContext context = Site.admin(here, Context.REFERRAL, "ignore");
        holds("a referral object",
                context.getAttributes(name(PEOPLE)).get("objectClass").contains("referral"));
        equal("entries", Site.search(context, SUFFIX, SUBTREE_SCOPE, "(ou=*)"),
                List.of(PEOPLE, GROUPS));
        raises(NameNotFoundException.class, () -> context.getAttributes(name(ADA)));
        Site.modify(context, PEOPLE,
                Site.change(REPLACE_ATTRIBUTE, "ref", "ldap://elsewhere.example"));
        context.destroySubcontext(name(PEOPLE));
        equal("entries", Site.search(context, SUFFIX, SUBTREE_SCOPE, "(ou=*)"), List.of(GROUPS));
    }

    public static void main(String[] arguments) throws Exception {
        thrown(arguments[0], arguments[1]);
        followed(arguments[0]);
        ignored(arguments[0]);
    }
}
