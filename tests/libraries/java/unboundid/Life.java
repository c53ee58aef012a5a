package unboundid;

import static site.Expect.ADA;
import static site.Expect.ADMIN;
import static site.Expect.EVA;
import static site.Expect.GRACE;
import static site.Expect.PEOPLE;
import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;

import com.unboundid.ldap.sdk.AsyncRequestID;
import com.unboundid.ldap.sdk.Entry;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPConnectionPool;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.RootDSE;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.extensions.PasswordModifyExtendedRequest;
import com.unboundid.ldap.sdk.extensions.PasswordModifyExtendedResult;
import com.unboundid.ldap.sdk.extensions.WhoAmIExtendedRequest;
import com.unboundid.ldap.sdk.extensions.WhoAmIExtendedResult;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The life of an entry with the UnboundID LDAP SDK. */
public final class Life {
    private static final String HOME = "ou=Alumni," + SUFFIX;
    private static final byte[] PHOTO = new byte[256];

    private static Entry eva() throws LDAPException {
        Entry entry = new Entry(EVA);
        entry.addAttribute("objectClass", "inetOrgPerson", "posixAccount");
        entry.addAttribute("uid", "eva");
        entry.addAttribute("cn", "Eva", "Eva Lu Ator");
        entry.addAttribute("sn", "Lügner");
        entry.addAttribute("uidNumber", "1000");
        entry.addAttribute("gidNumber", "100");
        entry.addAttribute("homeDirectory", "/home/eva");
        entry.addAttribute("jpegPhoto", PHOTO);
        return entry;
    }

    private static void birth(LDAPConnection admin) throws LDAPException {
        admin.add(eva());
        Entry came = admin.getEntry(EVA);
        equal("the entry", came, eva());
        holds("the photo", Arrays.equals(came.getAttributeValueBytes("jpegPhoto"), PHOTO));
        Site.refused(ResultCode.ENTRY_ALREADY_EXISTS, () -> admin.add(eva()));
        holds("compare", admin.compare(EVA, "sn", "lügner").compareMatched());
        holds("compare", !admin.compare(EVA, "sn", "other").compareMatched());
        Site.refused(ResultCode.NO_SUCH_ATTRIBUTE, () -> admin.compare(EVA, "mail", "x@y.z"));
        String filter = "(&(cn=eva*)(uidNumber>=1000))";
        equal("found", admin.searchForEntry(SUFFIX, SearchScope.SUB, filter, "uid").getDN(), EVA);
        equal("who made it", admin.getEntry(EVA, "+").getAttributeValue("creatorsName"), ADMIN);
        Entry wanted = eva();
        wanted.setAttribute("title", "Dr.");
        admin.modify(EVA, Entry.diff(admin.getEntry(EVA), wanted, true));
        equal("the entry", admin.getEntry(EVA), wanted);
    }

    private static void changes(LDAPConnection admin) throws Exception {
        admin.modify(
                "dn: " + EVA,
                "changetype: modify",
                "add: mail",
                "mail: eva@example.com",
                "mail: eva@example.org",
                "-",
                "replace: sn",
                "sn: Ator",
                "-",
                "delete: jpegPhoto",
                "-",
                "increment: uidNumber",
                "uidNumber: 5");
        Entry came = admin.getEntry(EVA);
        equal("uidNumber", came.getAttributeValueAsInteger("uidNumber"), 1005);
        equal("sn", came.getAttributeValue("sn"), "Ator");
        holds("mail", came.hasAttributeValue("mail", "eva@example.org"));
        holds("the photo is gone", !came.hasAttribute("jpegPhoto"));
    }

    private static void unchanged(
            LDAPConnection admin, ResultCode code, ModificationType type, String... words) {
        String[] values = Arrays.copyOfRange(words, 1, words.length);
        Site.refused(code, () -> admin.modify(EVA, new Modification(type, words[0], values)));
    }

    /** Each refusal has its result code, and changes nothing. */
    private static void refusals(LDAPConnection admin) throws LDAPException {
        final ModificationType add = ModificationType.ADD;
        final ModificationType delete = ModificationType.DELETE;
        Entry before = admin.getEntry(EVA);
        unchanged(admin, ResultCode.ATTRIBUTE_OR_VALUE_EXISTS, add, "sn", "ATOR");
        unchanged(admin, ResultCode.NO_SUCH_ATTRIBUTE, delete, "description", "x");
        unchanged(admin, ResultCode.UNDEFINED_ATTRIBUTE_TYPE, add, "noSuchType", "x");
        unchanged(admin, ResultCode.INVALID_ATTRIBUTE_SYNTAX, add, "uidNumber", "many");
        unchanged(admin, ResultCode.OBJECT_CLASS_VIOLATION, delete, "sn");
        unchanged(admin, ResultCode.NOT_ALLOWED_ON_RDN, delete, "uid", "eva");
        unchanged(admin, ResultCode.CONSTRAINT_VIOLATION, add, "uidNumber", "7");
        unchanged(admin, ResultCode.NO_SUCH_ATTRIBUTE, ModificationType.INCREMENT, "roomNumber", "1");
        Site.refused(ResultCode.NOT_ALLOWED_ON_NONLEAF, () -> admin.delete(PEOPLE));
        LDAPException refusal =
                Site.refused(ResultCode.NO_SUCH_OBJECT, () -> admin.delete("cn=a,ou=b," + SUFFIX));
        equal("matched name", refusal.getMatchedDN(), SUFFIX);
        equal("what it was", admin.getEntry(EVA), before);
    }

    private static String whoAmI(LDAPConnection connection) throws LDAPException {
        WhoAmIExtendedRequest request = new WhoAmIExtendedRequest();
        return ((WhoAmIExtendedResult) connection.processExtendedOperation(request))
                .getAuthorizationID();
    }

    private static PasswordModifyExtendedResult password(
            LDAPConnection connection, String old, String made) throws LDAPException {
        PasswordModifyExtendedRequest request = new PasswordModifyExtendedRequest(EVA, old, made);
        return (PasswordModifyExtendedResult) connection.processExtendedOperation(request);
    }

    private static void passwords(String url, LDAPConnection admin) throws LDAPException {
        password(admin, null, "first");
        Site.refused(ResultCode.INVALID_CREDENTIALS, () -> Site.connect(url, EVA, "wrong"));
        LDAPConnection before = Site.connect(url, EVA, "first");
        equal("who am I", whoAmI(before), "dn:" + EVA);
        String made = password(admin, null, null).getGeneratedPassword();
        // The administrator's change ends the connection, at a moment of the server's choice.
        before.close();
        Site.refused(ResultCode.INVALID_CREDENTIALS, () -> Site.connect(url, EVA, "first"));
        LDAPConnection eva = Site.connect(url, EVA, made);
        equal("changed", password(eva, made, "second").getResultCode(), ResultCode.SUCCESS);
        eva.bind(EVA, "second");
        Site.refused(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, () -> eva.delete(GRACE));
        eva.bind("", "");
        equal("who am I", whoAmI(eva), "");
        eva.close();
    }

    private static void movesAndEnd(LDAPConnection admin) throws Exception {
        admin.modifyDN(EVA, "uid=lu", false);
        String renamed = "uid=lu," + PEOPLE;
        holds("both names", admin.getEntry(renamed).hasAttributeValue("uid", "eva"));
        admin.add("dn: " + HOME, "objectClass: organizationalUnit", "ou: Alumni");
        admin.modifyDN(renamed, "uid=lu+sn=Ator", true, HOME);
        String moved = "sn=Ator+uid=lu," + HOME;
        equal("its name", admin.getEntry(moved).getParsedDN().toNormalizedString(),
                "sn=ator+uid=lu,ou=alumni," + SUFFIX);
        equal("nothing here", admin.getEntry(EVA), null);
        Site.refused(ResultCode.ENTRY_ALREADY_EXISTS, () -> admin.modifyDN(ADA, "uid=grace", true));
        admin.delete(moved);
        admin.delete(HOME);
        equal("nothing here", admin.getEntry(moved), null);
    }

    /** Many requests on one connection, and many connections in a pool. */
    private static void manyAtOnce(String url, LDAPConnection admin) throws Exception {
        RootDSE root = admin.getRootDSE();
        holds("Cancel is announced", root.supportsExtendedOperation("1.3.6.1.1.8"));
        List<AsyncRequestID> waiting = new ArrayList<>();
        for (int number = 0; number < 50; number++) {
            Modification change =
                    new Modification(ModificationType.REPLACE, "description", "v" + number);
            waiting.add(admin.asyncModify(new ModifyRequest(ADA, change), null));
        }
        for (AsyncRequestID id : waiting) {
            equal("result", id.get().getResultCode(), ResultCode.SUCCESS);
        }
        equal("the last", admin.getEntry(ADA).getAttributeValue("description"), "v49");
        try (LDAPConnectionPool pool = new LDAPConnectionPool(Site.admin(url), 1, 8)) {
            holds("in a pool", pool.bindAndRevertAuthentication(ADA, "ada") != null);
            equal("ada", pool.getEntry(ADA).getAttributeValue("uid"), "ada");
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int at = 0; at < PHOTO.length; at++) {
            PHOTO[at] = (byte) at;
        }
        LDAPConnection admin = Site.admin(arguments[0]);
        equal("who am I", whoAmI(admin), "dn:" + ADMIN);
        birth(admin);
        changes(admin);
        refusals(admin);
        passwords(arguments[0], admin);
        movesAndEnd(admin);
        manyAtOnce(arguments[0], admin);
        admin.close();
    }
}
