package unboundid;

import static site.Expect.ADA;
import static site.Expect.GRACE;
import static site.Expect.PEOPLE;
import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;
import static unboundid.Site.names;
import static unboundid.Site.refused;

import com.unboundid.ldap.sdk.AddRequest;
import com.unboundid.ldap.sdk.BindResult;
import com.unboundid.ldap.sdk.Control;
import com.unboundid.ldap.sdk.DeleteRequest;
import com.unboundid.ldap.sdk.Entry;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.LDAPResult;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResult;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.SimpleBindRequest;
import com.unboundid.ldap.sdk.controls.AssertionRequestControl;
import com.unboundid.ldap.sdk.controls.AuthorizationIdentityRequestControl;
import com.unboundid.ldap.sdk.controls.AuthorizationIdentityResponseControl;
import com.unboundid.ldap.sdk.controls.DontUseCopyRequestControl;
import com.unboundid.ldap.sdk.controls.MatchedValuesFilter;
import com.unboundid.ldap.sdk.controls.MatchedValuesRequestControl;
import com.unboundid.ldap.sdk.controls.PermissiveModifyRequestControl;
import com.unboundid.ldap.sdk.controls.PostReadRequestControl;
import com.unboundid.ldap.sdk.controls.PostReadResponseControl;
import com.unboundid.ldap.sdk.controls.PreReadRequestControl;
import com.unboundid.ldap.sdk.controls.PreReadResponseControl;
import com.unboundid.ldap.sdk.controls.ProxiedAuthorizationV2RequestControl;
import com.unboundid.ldap.sdk.controls.RFC3672SubentriesRequestControl;
import com.unboundid.ldap.sdk.controls.SubtreeDeleteRequestControl;
import com.unboundid.ldap.sdk.experimental.DraftZeilengaLDAPNoOp12RequestControl;
import com.unboundid.ldap.sdk.experimental.DraftZeilengaLDAPRelaxRules03RequestControl;
import com.unboundid.ldap.sdk.extensions.WhoAmIExtendedRequest;
import com.unboundid.ldap.sdk.extensions.WhoAmIExtendedResult;
import com.unboundid.ldap.sdk.unboundidds.controls.AccountUsableRequestControl;
import com.unboundid.ldap.sdk.unboundidds.controls.AccountUsableResponseControl;
import com.unboundid.ldap.sdk.unboundidds.controls.AssuredReplicationLocalLevel;
import com.unboundid.ldap.sdk.unboundidds.controls.AssuredReplicationRemoteLevel;
import com.unboundid.ldap.sdk.unboundidds.controls.AssuredReplicationRequestControl;
import com.unboundid.ldap.sdk.unboundidds.controls.AssuredReplicationResponseControl;
import java.util.List;

/** The controls for which the SDK has classes. */
public final class Controls {
    private static LDAPResult modify(
            LDAPConnection connection, String name, Modification change, Control... controls)
            throws LDAPException {
        return connection.modify(new ModifyRequest(name, new Modification[] {change}, controls));
    }

    private static LDAPResult delete(LDAPConnection connection, String name, Control... controls)
            throws LDAPException {
        return connection.delete(new DeleteRequest(name, controls));
    }

    private static SearchResult search(
            LDAPConnection connection, String base, SearchScope scope, Control control)
            throws LDAPException {
        SearchRequest request = new SearchRequest(base, scope, "(objectClass=*)");
        request.addControl(control);
        return connection.search(request);
    }

    private static void ofWrites(LDAPConnection admin) throws Exception {
        Modification change = new Modification(ModificationType.REPLACE, "sn", "Byron");
        Control onlyIf = new AssertionRequestControl("(employeeNumber=1815)");
        LDAPResult result = modify(admin, ADA, change, onlyIf,
                new PreReadRequestControl("sn"), new PostReadRequestControl("sn", "entryUUID"));
        Entry before = PreReadResponseControl.get(result).getEntry();
        Entry after = PostReadResponseControl.get(result).getEntry();
        equal("before", before, new Entry("dn: " + ADA, "sn: ada"));
        equal("after", after.getAttributeValue("sn"), "Byron");
        equal("entryUUID", after.getAttributeValue("entryUUID").length(), 36);
        refused(ResultCode.ASSERTION_FAILED, () -> modify(admin, GRACE, change, onlyIf));
        Control dryRun = new DraftZeilengaLDAPNoOp12RequestControl();
        equal("result", delete(admin, GRACE, dryRun).getResultCode(), ResultCode.NO_OPERATION);
        holds("grace is there", admin.getEntry(GRACE) != null);
        Modification again = new Modification(ModificationType.ADD, "sn", "Byron");
        refused(ResultCode.ATTRIBUTE_OR_VALUE_EXISTS, () -> modify(admin, ADA, again));
        modify(admin, ADA, again, new PermissiveModifyRequestControl());
        Control assured = new AssuredReplicationRequestControl(true,
                AssuredReplicationLocalLevel.PROCESSED_ALL_SERVERS, null,
                AssuredReplicationRemoteLevel.RECEIVED_ANY_REMOTE_LOCATION, null, 5000L, true);
        AssuredReplicationResponseControl told =
                AssuredReplicationResponseControl.get(modify(admin, ADA, change, assured));
        equal("here", told.localAssuranceSatisfied(), true);
        equal("elsewhere", told.remoteAssuranceSatisfied(), false);
        String old = "ou=Old," + SUFFIX;
        String uuid = "01234567-89ab-4def-8123-456789abcdef";
        AddRequest add = new AddRequest(
                "dn: " + old, "objectClass: organizationalUnit", "ou: Old", "entryUUID: " + uuid);
        refused(ResultCode.CONSTRAINT_VIOLATION, () -> admin.add(add));
        add.addControl(new DraftZeilengaLDAPRelaxRules03RequestControl());
        admin.add(add);
        equal("entryUUID", admin.getEntry(old, "+").getAttributeValue("entryUUID"), uuid);
        admin.add("dn: ou=Below," + old, "objectClass: organizationalUnit", "ou: Below");
        refused(ResultCode.NOT_ALLOWED_ON_NONLEAF, () -> admin.delete(old));
        delete(admin, old, new SubtreeDeleteRequestControl());
        equal("nothing here", admin.getEntry(old), null);
    }

    private static void ofReads(LDAPConnection admin) throws Exception {
        Control values = new MatchedValuesRequestControl(
                MatchedValuesFilter.createSubstringFilter("description", "goto", null, null));
        Entry edsger = search(admin, "uid=edsger," + PEOPLE, SearchScope.BASE, values)
                .getSearchEntries().get(0);
        equal("values", List.of(edsger.getAttributeValues("description")),
                List.of("Goto considered"));
        equal("values", edsger.getAttribute("sn").size(), 0);
        admin.modify(SUFFIX, new Modification(
                ModificationType.ADD, "administrativeRole", "collectiveAttributeSpecificArea"));
        admin.add("dn: cn=phones," + SUFFIX, "objectClass: subentry",
                "objectClass: collectiveAttributeSubentry", "cn: phones",
                "subtreeSpecification: { }");
        Control only = new RFC3672SubentriesRequestControl(true);
        equal("subentries", names(search(admin, SUFFIX, SearchScope.SUB, only)),
                List.of("cn=phones," + SUFFIX));
        Control fresh = new DontUseCopyRequestControl();
        equal("ada", names(search(admin, ADA, SearchScope.BASE, fresh)), List.of(ADA));
        Control usable = new AccountUsableRequestControl(true);
        SearchResult found = search(admin, ADA, SearchScope.BASE, usable);
        AccountUsableResponseControl account =
                AccountUsableResponseControl.get(found.getSearchEntries().get(0));
        holds("the account is usable", account.isUsable());
        equal("it expires", account.getSecondsUntilExpiration(), -1);
    }

    private static void ofEverything(String url, LDAPConnection admin) throws Exception {
        Control asAda = new ProxiedAuthorizationV2RequestControl("dn:" + ADA);
        WhoAmIExtendedRequest whoAmI = new WhoAmIExtendedRequest(new Control[] {asAda});
        WhoAmIExtendedResult who =
                (WhoAmIExtendedResult) admin.processExtendedOperation(whoAmI);
        equal("who am I", who.getAuthorizationID(), "dn:" + ADA);
        refused(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, () -> delete(admin, GRACE, asAda));
        LDAPConnection grace = Site.connect(url);
        BindResult bound = grace.bind(new SimpleBindRequest(
                GRACE, "grace", new AuthorizationIdentityRequestControl()));
        equal("identity", AuthorizationIdentityResponseControl.get(bound).getAuthorizationID(),
                "dn:" + GRACE);
        refused(ResultCode.AUTHORIZATION_DENIED, () -> delete(grace, GRACE, asAda));
        Control unknown = new Control("1.2.3.4.5", true);
        refused(ResultCode.UNAVAILABLE_CRITICAL_EXTENSION, () -> delete(admin, GRACE, unknown));
    }

    public static void main(String[] arguments) throws Exception {
        LDAPConnection admin = Site.admin(arguments[0]);
        ofWrites(admin);
        ofReads(admin);
        ofEverything(arguments[0], admin);
    }
}
