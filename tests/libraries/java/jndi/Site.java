package jndi;

import java.util.Hashtable;
import javax.naming.Context;
import javax.naming.NamingEnumeration;
import javax.naming.NamingException;
import javax.naming.directory.Attribute;
import javax.naming.directory.Attributes;
import javax.naming.directory.BasicAttribute;
import javax.naming.directory.BasicAttributes;
import javax.naming.directory.DirContext;
import javax.naming.directory.ModificationItem;
import javax.naming.directory.SearchControls;
import javax.naming.directory.SearchResult;
import javax.naming.ldap.InitialLdapContext;
import javax.naming.ldap.LdapContext;
import javax.naming.ldap.LdapName;
import java.util.ArrayList;
import java.util.List;
import site.Expect;

/** Contexts, entries and searches for the programs in this folder. */
final class Site {
    private Site() {}

    /** The environment of a context; `more` are names and values in turn. */
    static Hashtable<String, String> environment(
            String url, String name, String password, String... more) {
        Hashtable<String, String> environment = new Hashtable<>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
        environment.put(Context.PROVIDER_URL, url);
        if (name != null) {
            environment.put(Context.SECURITY_PRINCIPAL, name);
            environment.put(Context.SECURITY_CREDENTIALS, password);
        }
        for (int at = 0; at < more.length; at += 2) {
            environment.put(more[at], more[at + 1]);
        }
        return environment;
    }

    static LdapContext connect(String url, String name, String password, String... more)
            throws NamingException {
        return new InitialLdapContext(environment(url, name, password, more), null);
    }

    static LdapContext admin(String url, String... more) throws NamingException {
        return connect(url, Expect.ADMIN, Expect.PASSWORD, more);
    }

    static LdapName name(String text) throws NamingException {
        return new LdapName(text);
    }

    /** An entry of `type: value` lines. */
    static Attributes entry(String... lines) {
        Attributes entry = new BasicAttributes(true);
        for (String line : lines) {
            String[] parts = line.split(": ", 2);
            Attribute attribute = entry.get(parts[0]);
            if (attribute == null) {
                entry.put(parts[0], parts[1]);
            } else {
                attribute.add(parts[1]);
            }
        }
        return entry;
    }

    /** A modification; without values, of the whole attribute. */
    static ModificationItem change(int operation, String type, Object... values) {
        Attribute attribute = new BasicAttribute(type);
        for (Object value : values) {
            attribute.add(value);
        }
        return new ModificationItem(operation, attribute);
    }

    static void modify(LdapContext context, String name, ModificationItem... changes)
            throws NamingException {
        context.modifyAttributes(name(name), changes);
    }

    static String value(LdapContext context, String name, String type) throws NamingException {
        Attribute attribute = context.getAttributes(name(name), new String[] {type}).get(type);
        return attribute == null ? null : (String) attribute.get();
    }

    /** Names below a base that a filter finds. */
    static List<String> search(DirContext context, String base, int scope, String filter)
            throws NamingException {
        SearchControls how = new SearchControls();
        how.setSearchScope(scope);
        how.setReturningAttributes(new String[] {"1.1"});
        List<String> names = new ArrayList<>();
        NamingEnumeration<SearchResult> found = context.search(name(base), filter, how);
        while (found.hasMore()) {
            names.add(found.next().getNameInNamespace());
        }
        return names;
    }
}
