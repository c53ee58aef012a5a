package jndi;

import static javax.naming.directory.DirContext.ADD_ATTRIBUTE;
import static javax.naming.directory.DirContext.REPLACE_ATTRIBUTE;
import static jndi.Site.change;
import static jndi.Site.entry;
import static jndi.Site.name;
import static site.Expect.ADA;
import static site.Expect.GRACE;
import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;
import static site.Expect.raises;

import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.naming.ContextNotEmptyException;
import javax.naming.NamingException;
import javax.naming.NoPermissionException;
import javax.naming.OperationNotSupportedException;
import javax.naming.directory.AttributeInUseException;
import javax.naming.directory.SearchControls;
import javax.naming.ldap.BasicControl;
import javax.naming.ldap.Control;
import javax.naming.ldap.LdapContext;

/** Controls for which JNDI has no classes, with values encoded here. */
public final class Controls {
    /** A context on the same connection whose requests carry controls. */
    private static LdapContext with(LdapContext context, Control... controls)
            throws NamingException {
        LdapContext other = context.newInstance(null);
        other.setRequestControls(controls);
        return other;
    }

    private static Control control(String oid, byte[] value) {
        return new BasicControl(oid, Control.CRITICAL, value);
    }

    private static void ofWrites(LdapContext admin) throws NamingException {
        // An equality filter: [3] of type and value.
        byte[] filter = Ber.element(0xa3, Ber.text(Ber.OCTET_STRING, "employeeNumber"),
                Ber.text(Ber.OCTET_STRING, "1815"));
        byte[] selection = Ber.element(Ber.SEQUENCE, Ber.text(Ber.OCTET_STRING, "sn"));
        LdapContext context = with(admin, control("1.3.6.1.1.12", filter),
                control("1.3.6.1.1.13.1", selection));
        Site.modify(context, ADA, change(REPLACE_ATTRIBUTE, "sn", "Byron"));
        Control[] answers = context.getResponseControls();
        equal("answers", answers.length, 1);
        equal("its kind", answers[0].getID(), "1.3.6.1.1.13.1");
        String read = new String(answers[0].getEncodedValue(), StandardCharsets.ISO_8859_1);
        holds("the entry before: " + read, read.contains(ADA) && read.endsWith("ada"));
        raises(NamingException.class, () -> {
            Site.modify(context, GRACE, change(REPLACE_ATTRIBUTE, "sn", "Byron"));
            return "success";
        });
        raises(AttributeInUseException.class, () -> {
            Site.modify(admin, ADA, change(ADD_ATTRIBUTE, "sn", "Byron"));
            return "success";
        });
        Site.modify(with(admin, control("1.2.840.113556.1.4.1413", null)), ADA,
                change(ADD_ATTRIBUTE, "sn", "Byron"));
        String old = "ou=Old," + SUFFIX;
        admin.createSubcontext(name(old), entry("objectClass: organizationalUnit"));
        admin.createSubcontext(name("ou=Below," + old), entry("objectClass: organizationalUnit"));
        raises(ContextNotEmptyException.class, () -> {
            admin.destroySubcontext(name(old));
            return "success";
        });
        with(admin, control("1.2.840.113556.1.4.805", null)).destroySubcontext(name(old));
        equal("nothing there", Site.search(admin, SUFFIX, SearchControls.SUBTREE_SCOPE, "(ou=Old)"),
                List.of());
    }

    private static void ofEverything(LdapContext admin) throws NamingException {
        byte[] ada = ("dn:" + ADA).getBytes(StandardCharsets.UTF_8);
        LdapContext asAda = with(admin, control("2.16.840.1.113730.3.4.18", ada));
        byte[] who = asAda.extendedOperation(new Operation(Operation.WHO_AM_I, null))
                .getEncodedValue();
        equal("who am I", new String(who, StandardCharsets.UTF_8), "dn:" + ADA);
        raises(NoPermissionException.class, () -> {
            asAda.destroySubcontext(name(GRACE));
            return "success";
        });
        LdapContext unknown = with(admin, control("1.2.3.4.5", null));
        raises(OperationNotSupportedException.class, () -> {
            unknown.destroySubcontext(name(GRACE));
            return "success";
        });
    }

    private static void subentries(LdapContext admin) throws NamingException {
        Site.modify(admin, SUFFIX,
                change(ADD_ATTRIBUTE, "administrativeRole", "collectiveAttributeSpecificArea"));
        String phones = "cn=phones," + SUFFIX;
        admin.createSubcontext(name(phones), entry("objectClass: subentry",
                "objectClass: collectiveAttributeSubentry", "subtreeSpecification: { }"));
        byte[] only = Ber.element(Ber.BOOLEAN, new byte[] {-1});
        LdapContext context = with(admin, control("1.3.6.1.4.1.4203.1.10.1", only));
        List<String> found =
                Site.search(context, SUFFIX, SearchControls.SUBTREE_SCOPE, "(objectClass=*)");
        equal("subentries", found, List.of(phones));
    }

    public static void main(String[] arguments) throws Exception {
        LdapContext admin = Site.admin(arguments[0]);
        ofWrites(admin);
        ofEverything(admin);
        subentries(admin);
    }
}
