package unboundid;

import static site.Expect.SUFFIX;
import static site.Expect.equal;
import static site.Expect.holds;

import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.SearchResultEntry;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.schema.AttributeTypeDefinition;
import com.unboundid.ldap.sdk.schema.EntryValidator;
import com.unboundid.ldap.sdk.schema.Schema;
import java.util.ArrayList;
import java.util.List;

/** The SDK parses every definition of the subschema, and finds every entry in order by them. */
public final class Definitions {
    private static Schema parsed(LDAPConnection connection) throws Exception {
        // The last argument asks for an exception when a definition cannot be parsed.
        Schema schema = Schema.getSchema(connection, SUFFIX, true);
        AttributeTypeDefinition surname = schema.getAttributeType("surname");
        equal("oid", surname.getOID(), "2.5.4.4");
        equal("equality", surname.getEqualityMatchingRule(schema), "caseIgnoreMatch");
        equal("syntax", surname.getSyntaxOID(schema), "1.3.6.1.4.1.1466.115.121.1.15");
        holds("inetOrgPerson may have a mail", schema.getObjectClass("inetOrgPerson")
                .getOptionalAttributes(schema, true)
                .contains(schema.getAttributeType("mail")));
        for (AttributeTypeDefinition type : schema.getAttributeTypes()) {
            String rule = type.getEqualityMatchingRule(schema);
            holds(type.getNameOrOID() + " names a rule that is there: " + rule,
                    rule == null || schema.getMatchingRule(rule) != null);
            String syntax = type.getBaseSyntaxOID(schema);
            holds(type.getNameOrOID() + " names a syntax that is there: " + syntax,
                    syntax != null && schema.getAttributeSyntax(syntax) != null);
        }
        return schema;
    }

    public static void main(String[] arguments) throws Exception {
        LDAPConnection connection = Site.admin(arguments[0]);
        EntryValidator entries = new EntryValidator(parsed(connection));
        for (SearchResultEntry entry :
                connection.search(SUFFIX, SearchScope.SUB, "(objectClass=*)", "*", "+")
                        .getSearchEntries()) {
            List<String> reasons = new ArrayList<>();
            holds(entry.getDN() + ": " + reasons, entries.entryIsValid(entry, reasons));
        }
    }
}
