package jndi;

import static javax.naming.directory.DirContext.ADD_ATTRIBUTE;
import static javax.naming.directory.DirContext.REMOVE_ATTRIBUTE;
import static javax.naming.directory.DirContext.REPLACE_ATTRIBUTE;
import static jndi.Site.change;
import static jndi.Site.entry;
import static jndi.Site.modify;
import static jndi.Site.name;
import static site.Expect.ADA;
import static site.Expect.ADMIN;
import static site.Expect.EVA;
import static site.Expect.GRACE;
import static site.Expect.PEOPLE;
import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;
import static site.Expect.raises;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import javax.naming.AuthenticationException;
import javax.naming.ContextNotEmptyException;
import javax.naming.InvalidNameException;
import javax.naming.NameAlreadyBoundException;
import javax.naming.NameNotFoundException;
import javax.naming.NamingException;
import javax.naming.NoPermissionException;
import javax.naming.directory.AttributeInUseException;
import javax.naming.directory.Attributes;
import javax.naming.directory.InvalidAttributeIdentifierException;
import javax.naming.directory.InvalidAttributeValueException;
import javax.naming.directory.ModificationItem;
import javax.naming.directory.NoSuchAttributeException;
import javax.naming.directory.SchemaViolationException;
import javax.naming.directory.SearchControls;
import javax.naming.ldap.LdapContext;

/** The life of an entry with JNDI, which makes a class of exception of each group of refusals. */
public final class Life {
    private static final String HOME = "ou=Alumni," + SUFFIX;
    private static final byte[] PHOTO = {0, 1, -1, -128, 127};

    private static Attributes eva() {
        Attributes eva = entry("objectClass: inetOrgPerson", "objectClass: posixAccount",
                "uid: eva", "cn: Eva", "cn: Eva Lu Ator", "sn: Lügner", "uidNumber: 1000",
                "gidNumber: 100", "homeDirectory: /home/eva");
        eva.put("jpegPhoto", PHOTO);
        return eva;
    }

    /** JNDI sends Compare for a search of one entry that wants no attributes. */
    private static boolean compare(LdapContext context, String filter) throws NamingException {
        SearchControls how = new SearchControls();
        how.setSearchScope(SearchControls.OBJECT_SCOPE);
        how.setReturningAttributes(new String[0]);
        return context.search(name(EVA), filter, how).hasMore();
    }

    private static void birth(LdapContext admin) throws NamingException {
        admin.createSubcontext(name(EVA), eva()).close();
        Attributes came = admin.getAttributes(name(EVA));
        equal("how many attributes", came.size(), eva().size());
        equal("sn", came.get("sn").get(), "Lügner");
        holds("cn", came.get("cn").contains("Eva Lu Ator"));
        holds("jpegPhoto", Arrays.equals((byte[]) came.get("jpegPhoto").get(), PHOTO));
        raises(NameAlreadyBoundException.class, () -> admin.createSubcontext(name(EVA), eva()));
        holds("compare", compare(admin, "(sn=lügner)"));
        holds("compare", !compare(admin, "(sn=other)"));
        List<String> found = Site.search(
                admin, SUFFIX, SearchControls.SUBTREE_SCOPE, "(&(cn=eva*)(uidNumber>=1000))");
        equal("found", found, List.of(EVA));
        equal("who made it", Site.value(admin, EVA, "creatorsName"), ADMIN);
    }

    private static void changes(LdapContext admin) throws NamingException {
        modify(admin, EVA,
                change(ADD_ATTRIBUTE, "mail", "eva@example.com", "eva@example.org"),
                change(REPLACE_ATTRIBUTE, "sn", "Ator"),
                change(REMOVE_ATTRIBUTE, "jpegPhoto"));
        Attributes came = admin.getAttributes(name(EVA));
        equal("mail", came.get("mail").size(), 2);
        equal("sn", came.get("sn").get(), "Ator");
        equal("jpegPhoto", came.get("jpegPhoto"), null);
    }

    private static <E extends NamingException> void unchanged(
            LdapContext admin, Class<E> exception, ModificationItem change) {
        raises(exception, () -> {
            modify(admin, EVA, change);
            return "success";
        });
    }

    /** Each refusal has its class of exception, and changes nothing. */
    private static void refusals(LdapContext admin) throws NamingException {
        Attributes before = admin.getAttributes(name(EVA));
        unchanged(admin, AttributeInUseException.class, change(ADD_ATTRIBUTE, "sn", "ATOR"));
        unchanged(admin, NoSuchAttributeException.class,
                change(REMOVE_ATTRIBUTE, "description", "x"));
        unchanged(admin, InvalidAttributeIdentifierException.class,
                change(ADD_ATTRIBUTE, "noSuchType", "x"));
        unchanged(admin, InvalidAttributeValueException.class,
                change(REPLACE_ATTRIBUTE, "uidNumber", "many"));
        unchanged(admin, InvalidAttributeValueException.class,
                change(ADD_ATTRIBUTE, "uidNumber", "7"));
        unchanged(admin, SchemaViolationException.class, change(REMOVE_ATTRIBUTE, "sn"));
        unchanged(admin, SchemaViolationException.class, change(REMOVE_ATTRIBUTE, "uid", "eva"));
        raises(ContextNotEmptyException.class, () -> {
            admin.destroySubcontext(name(PEOPLE));
            return "success";
        });
        // Deleting a missing entry succeeds in JNDI when its superior exists.
        admin.destroySubcontext(name("uid=missing," + PEOPLE));
        raises(NameNotFoundException.class,
                () -> admin.getAttributes(name("cn=a,ou=b," + SUFFIX)));
        raises(InvalidNameException.class, () -> admin.getAttributes("no name"));
        equal("what it was", admin.getAttributes(name(EVA)), before);
    }

    private static String whoAmI(LdapContext context) throws NamingException {
        byte[] answer =
                context.extendedOperation(new Operation(Operation.WHO_AM_I, null)).getEncodedValue();
        return new String(answer, StandardCharsets.UTF_8);
    }

    private static void passwords(String url, LdapContext admin) throws NamingException {
        byte[] request = Ber.element(Ber.SEQUENCE, Ber.text(0x80, EVA), Ber.text(0x82, "first"));
        admin.extendedOperation(new Operation(Operation.PASSWORD_MODIFY, request));
        raises(AuthenticationException.class, () -> Site.connect(url, EVA, "wrong"));
        LdapContext eva = Site.connect(url, EVA, "first");
        equal("who am I", whoAmI(eva), "dn:" + EVA);
        raises(NoPermissionException.class, () -> {
            eva.destroySubcontext(name(GRACE));
            return "success";
        });
        // The same connection binds again when the credentials of the context change.
        eva.addToEnvironment("java.naming.security.principal", ADA);
        eva.addToEnvironment("java.naming.security.credentials", "ada");
        eva.reconnect(null);
        equal("who am I", whoAmI(eva), "dn:" + ADA);
        eva.close();
        LdapContext anonymous = Site.connect(url, null, null);
        equal("who am I", whoAmI(anonymous), "");
    }

    private static void movesAndEnd(LdapContext admin) throws NamingException {
        String renamed = "uid=lu," + PEOPLE;
        admin.addToEnvironment("java.naming.ldap.deleteRDN", "false");
        admin.rename(name(EVA), name(renamed));
        equal("both names", admin.getAttributes(name(renamed)).get("uid").size(), 2);
        admin.addToEnvironment("java.naming.ldap.deleteRDN", "true");
        admin.createSubcontext(name(HOME), entry("objectClass: organizationalUnit"));
        String moved = "uid=lu," + HOME;
        admin.rename(name(renamed), name(moved));
        equal("sn", Site.value(admin, moved, "sn"), "Ator");
        raises(NameNotFoundException.class, () -> admin.getAttributes(name(EVA)));
        raises(NameAlreadyBoundException.class, () -> {
            admin.rename(name(ADA), name(GRACE));
            return "success";
        });
        admin.destroySubcontext(name(moved));
        admin.destroySubcontext(name(HOME));
        raises(NameNotFoundException.class, () -> admin.getAttributes(name(moved)));
    }

    /** Java objects kept in entries, as old applications do. */
    private static void objects(LdapContext admin) throws NamingException {
        admin.bind(name("cn=kept," + SUFFIX), "a string", entry("objectClass: device"));
        equal("class", Site.value(admin, "cn=kept," + SUFFIX, "javaClassName"), "java.lang.String");
        admin.unbind(name("cn=kept," + SUFFIX));
    }

    public static void main(String[] arguments) throws Exception {
        LdapContext admin = Site.admin(arguments[0], "com.sun.jndi.ldap.connect.pool", "true",
                "java.naming.ldap.attributes.binary", "jpegPhoto");
        equal("who am I", whoAmI(admin), "dn:" + ADMIN);
        birth(admin);
        changes(admin);
        refusals(admin);
        passwords(arguments[0], admin);
        movesAndEnd(admin);
        objects(admin);
        admin.close();
    }
}
