package jndi;

import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.holds;

import javax.naming.NameClassPair;
import javax.naming.NamingEnumeration;
import javax.naming.NamingException;
import javax.naming.directory.Attributes;
import javax.naming.directory.DirContext;
import javax.naming.directory.SearchResult;
import javax.naming.ldap.LdapContext;

/** The subschema as the tree of contexts that JNDI makes of it. */
public final class Definitions {
    private static int count(DirContext schema, String kind) throws NamingException {
        NamingEnumeration<NameClassPair> names = schema.list(kind);
        int count = 0;
        while (names.hasMore()) {
            names.next();
            count++;
        }
        return count;
    }

    public static void main(String[] arguments) throws Exception {
        LdapContext context = Site.admin(arguments[0]);
        DirContext schema = context.getSchema(Site.name(PEOPLE));
        holds("many types", count(schema, "AttributeDefinition") > 200);
        holds("many classes", count(schema, "ClassDefinition") > 50);
        holds("many syntaxes", count(schema, "SyntaxDefinition") > 30);
        holds("many rules", count(schema, "MatchingRule") > 30);
        Attributes surname = schema.getAttributes("AttributeDefinition/sn");
        equal("oid", surname.get("NUMERICOID").get(), "2.5.4.4");
        equal("supertype", surname.get("SUP").get(), "name");
        Attributes person = schema.getAttributes("ClassDefinition/inetOrgPerson");
        holds("mail is allowed", person.get("MAY").contains("mail"));
        holds("it is structural", person.get("STRUCTURAL") != null);
        NamingEnumeration<SearchResult> classes = context.getSchemaClassDefinition(
                Site.name("uid=ada," + PEOPLE)).search("", null);
        holds("classes of ada", classes.hasMore());
        DirContext mail = context.getAttributes(Site.name("uid=ada," + PEOPLE)).get("mail")
                .getAttributeDefinition();
        equal("mail", mail.getAttributes("").get("NUMERICOID").get(), "0.9.2342.19200300.100.1.3");
        Attributes root = context.getAttributes("", new String[] {"supportedControl"});
        holds("the root DSE", root.get("supportedControl").contains("1.2.840.113556.1.4.319"));
    }
}
