package jndi;

import static javax.naming.directory.DirContext.REPLACE_ATTRIBUTE;
import static site.Expect.ADA;
import static site.Expect.GRACE;
import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.raises;

import javax.naming.NameNotFoundException;
import javax.naming.NamingException;
import javax.naming.OperationNotSupportedException;
import javax.naming.ldap.BasicControl;
import javax.naming.ldap.Control;
import javax.naming.ldap.LdapContext;

/** Transactions (RFC 5805) with generic operations and controls. */
public final class Transactions {
    private final LdapContext context;
    private final byte[] id;

    private Transactions(LdapContext context) throws NamingException {
        this.context = context;
        context.setRequestControls(null);
        id = context.extendedOperation(new Operation("1.3.6.1.1.21.1", null)).getEncodedValue();
    }

    private void surname(String name, String value) throws NamingException {
        Control specification = new BasicControl("1.3.6.1.1.21.2", Control.CRITICAL, id);
        context.setRequestControls(new Control[] {specification});
        Site.modify(context, name, Site.change(REPLACE_ATTRIBUTE, "sn", value));
    }

    private Object end(boolean commit) throws NamingException {
        context.setRequestControls(null);
        byte[] settle = Ber.element(Ber.BOOLEAN, new byte[] {(byte) (commit ? -1 : 0)});
        byte[] value = Ber.element(Ber.SEQUENCE, settle, Ber.element(Ber.OCTET_STRING, id));
        return context.extendedOperation(new Operation("1.3.6.1.1.21.3", value));
    }

    private static String surnames(LdapContext context) throws NamingException {
        return Site.value(context, ADA, "sn") + " " + Site.value(context, GRACE, "sn");
    }

    public static void main(String[] arguments) throws Exception {
        LdapContext admin = Site.admin(arguments[0]);
        LdapContext other = Site.admin(arguments[0]);
        Transactions transaction = new Transactions(admin);
        transaction.surname(ADA, "Byron");
        transaction.surname(GRACE, "Hopper");
        equal("before the end", surnames(other), "ada grace");
        transaction.end(true);
        equal("committed", surnames(other), "Byron Hopper");

        Transactions aborted = new Transactions(admin);
        aborted.surname(ADA, "King");
        aborted.end(false);
        equal("aborted", surnames(other), "Byron Hopper");
        raises(OperationNotSupportedException.class, () -> aborted.end(true));

        Transactions failing = new Transactions(admin);
        failing.surname(ADA, "King");
        failing.surname("uid=missing," + PEOPLE, "Nobody");
        raises(NameNotFoundException.class, () -> failing.end(true));
        equal("taken back", surnames(other), "Byron Hopper");
    }
}
