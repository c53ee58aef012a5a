package unboundid;

import static site.Expect.ADMIN;
import static site.Expect.PASSWORD;
import static site.Expect.equal;

import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.LDAPURL;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchResult;
import java.util.List;
import java.util.stream.Collectors;
import site.Expect;

/** Connections, and refusals by result code, for the programs in this folder. */
final class Site {
    private Site() {}

    static LDAPConnection connect(String url) throws LDAPException {
        LDAPURL parsed = new LDAPURL(url);
        return new LDAPConnection(parsed.getHost(), parsed.getPort());
    }

    static LDAPConnection connect(String url, String name, String password) throws LDAPException {
        LDAPConnection connection = connect(url);
        connection.bind(name, password);
        return connection;
    }

    static LDAPConnection admin(String url) throws LDAPException {
        return connect(url, ADMIN, PASSWORD);
    }

    /** Expects an exception with this result code. */
    static LDAPException refused(ResultCode code, Expect.Call call) {
        try {
            Object came = call.run();
            throw new AssertionError("expected " + code + ", came " + came);
        } catch (LDAPException refusal) {
            equal("result code of " + refusal, refusal.getResultCode(), code);
            return refusal;
        } catch (Exception other) {
            throw new AssertionError("expected " + code + ", came " + other, other);
        }
    }

    static List<String> names(SearchResult result) {
        return result.getSearchEntries().stream().map(it -> it.getDN()).collect(Collectors.toList());
    }

    static List<String> uids(SearchResult result) {
        return result.getSearchEntries().stream()
                .map(it -> it.getAttributeValue("uid"))
                .collect(Collectors.toList());
    }
}
