package unboundid;

import static site.Expect.ADA;
import static site.Expect.EVA;
import static site.Expect.GROUPS;
import static site.Expect.PEOPLE;
import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;
import static unboundid.Site.names;
import static unboundid.Site.refused;

import com.unboundid.ldap.sdk.Entry;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPConnectionOptions;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResult;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.controls.ManageDsaITRequestControl;
import java.util.List;

/** Referrals returned, followed as the same user, and managed. */
public final class Referrals {
    private static final String FILTER = "(|(uid=ada)(ou=Groups))";

    private static void returned(String here, String there) throws LDAPException {
        LDAPConnection connection = Site.admin(here);
        SearchResult found = connection.search(SUFFIX, SearchScope.SUB, FILTER);
        equal("entries", names(found), List.of(GROUPS));
        equal("references", List.of(found.getSearchReferences().get(0).getReferralURLs()),
                List.of(there + "/" + PEOPLE + "??sub"));
        LDAPException referral = refused(ResultCode.REFERRAL,
                () -> connection.search(ADA, SearchScope.BASE, "(objectClass=*)"));
        equal("URLs", List.of(referral.getReferralURLs()), List.of(there + "/" + ADA + "??base"));
        equal("matched name", referral.getMatchedDN(), PEOPLE);
        refused(ResultCode.REFERRAL, () -> connection.delete(ADA));
    }

    private static void followed(String here) throws Exception {
        LDAPConnection connection = Site.admin(here);
        LDAPConnectionOptions options = new LDAPConnectionOptions();
        options.setFollowReferrals(true);
        connection.setConnectionOptions(options);
        equal("ada", connection.getEntry(ADA).getAttributeValue("sn"), "ada");
        connection.modify(ADA, new Modification(ModificationType.REPLACE, "sn", "Byron"));
        equal("ada", connection.getEntry(ADA).getAttributeValue("sn"), "Byron");
        holds("compare", connection.compare(ADA, "sn", "byron").compareMatched());
        List<String> found = names(connection.search(SUFFIX, SearchScope.SUB, FILTER));
        holds("both servers' entries: " + found,
                found.size() == 2 && found.contains(GROUPS) && found.contains(ADA));
        connection.add("dn: " + EVA, "objectClass: inetOrgPerson", "cn: Eva", "sn: Eva");
        connection.modifyDN(EVA, "uid=lu", true);
        connection.delete("uid=lu," + PEOPLE);
    }

    private static void managed(String here) throws LDAPException {
        LDAPConnection connection = Site.admin(here);
        SearchRequest request = new SearchRequest(PEOPLE, SearchScope.BASE, "(objectClass=*)");
        request.addControl(new ManageDsaITRequestControl(true));
        Entry itself = connection.search(request).getSearchEntries().get(0);
        holds("a referral object", itself.hasObjectClass("referral"));
        ModifyRequest change = new ModifyRequest(PEOPLE,
                new Modification(ModificationType.REPLACE, "ref", "ldap://elsewhere.example"));
        change.addControl(new ManageDsaITRequestControl(true));
        connection.modify(change);
        LDAPException referral = refused(ResultCode.REFERRAL,
                () -> connection.search(PEOPLE, SearchScope.BASE, "(objectClass=*)"));
        equal("URLs", List.of(referral.getReferralURLs()),
                List.of("ldap://elsewhere.example/" + PEOPLE + "??base"));
    }

    public static void main(String[] arguments) throws Exception {
        returned(arguments[0], arguments[1]);
        followed(arguments[0]);
        managed(arguments[0]);
    }
}
