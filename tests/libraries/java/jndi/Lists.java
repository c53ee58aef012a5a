package jndi;

import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.raises;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.naming.NamingEnumeration;
import javax.naming.NamingException;
import javax.naming.OperationNotSupportedException;
import javax.naming.SizeLimitExceededException;
import javax.naming.directory.SearchControls;
import javax.naming.directory.SearchResult;
import javax.naming.ldap.BasicControl;
import javax.naming.ldap.Control;
import javax.naming.ldap.LdapContext;
import javax.naming.ldap.PagedResultsControl;
import javax.naming.ldap.PagedResultsResponseControl;
import javax.naming.ldap.SortControl;
import javax.naming.ldap.SortKey;
import javax.naming.ldap.SortResponseControl;

/** Paging, sorting and list views of three thousand people. */
public final class Lists {
    private static final List<String> ALL =
            IntStream.range(0, 3000).mapToObj(it -> "p" + it).sorted().collect(Collectors.toList());

    private static List<String> search(LdapContext context, long limit, Control... controls)
            throws Exception {
        context.setRequestControls(controls);
        SearchControls how = new SearchControls();
        how.setSearchScope(SearchControls.ONELEVEL_SCOPE);
        how.setReturningAttributes(new String[] {"uid"});
        how.setCountLimit(limit);
        NamingEnumeration<SearchResult> found =
                context.search(Site.name(PEOPLE), "(objectClass=person)", how);
        List<String> uids = new ArrayList<>();
        while (found.hasMore()) {
            uids.add((String) found.next().getAttributes().get("uid").get());
        }
        return uids;
    }

    private static <C extends Control> C answer(LdapContext context, Class<C> wanted)
            throws NamingException {
        for (Control control : context.getResponseControls()) {
            if (wanted.isInstance(control)) {
                return wanted.cast(control);
            }
        }
        throw new AssertionError("no " + wanted.getSimpleName() + " came");
    }

    private static List<String> pages(LdapContext context, Control... more) throws Exception {
        List<String> came = new ArrayList<>();
        byte[] cookie = null;
        do {
            List<Control> controls = new ArrayList<>(List.of(more));
            controls.add(new PagedResultsControl(500, cookie, Control.CRITICAL));
            List<String> page = search(context, 0, controls.toArray(new Control[0]));
            equal("entries of a page", page.size(), 500);
            came.addAll(page);
            cookie = answer(context, PagedResultsResponseControl.class).getCookie();
        } while (cookie != null);
        return came;
    }

    private static void sorting(LdapContext context) throws Exception {
        List<String> backwards = new ArrayList<>(ALL);
        Collections.reverse(backwards);
        Control reverse =
                new SortControl(new SortKey[] {new SortKey("uid", false, null)}, Control.CRITICAL);
        equal("uids", search(context, 0, reverse), backwards);
        SortResponseControl result = answer(context, SortResponseControl.class);
        equal("sort result", result.getResultCode(), 0);
        SortKey byRule = new SortKey("uid", true, "caseIgnoreOrderingMatch");
        Control order = new SortControl(new SortKey[] {new SortKey("sn"), byRule}, Control.CRITICAL);
        equal("uids", search(context, 0, order), ALL);
        equal("sorted pages", pages(context, order), ALL);
        Control unknown = new SortControl("noSuchType", Control.CRITICAL);
        raises(OperationNotSupportedException.class, () -> search(context, 0, unknown));
    }

    private static void views(LdapContext context) throws Exception {
        Control order = new SortControl("uid", Control.CRITICAL);
        byte[] offset = Ber.element(0xa0, Ber.number(1000), Ber.number(0));
        byte[] view = Ber.element(Ber.SEQUENCE, Ber.number(2), Ber.number(3), offset);
        Control window = new BasicControl("2.16.840.1.113730.3.4.9", true, view);
        equal("the window", search(context, 0, order, window), ALL.subList(997, 1003));
    }

    public static void main(String[] arguments) throws Exception {
        LdapContext context = Site.admin(arguments[0]);
        List<String> came = pages(context);
        Collections.sort(came);
        equal("pages", came, ALL);
        sorting(context);
        views(context);
        raises(SizeLimitExceededException.class, () -> search(context, 7));
    }
}
