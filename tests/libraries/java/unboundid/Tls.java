package unboundid;

import static site.Expect.ADA;
import static site.Expect.equal;
import static site.Expect.holds;
import static unboundid.Site.refused;

import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPURL;
import com.unboundid.ldap.sdk.PLAINBindRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.extensions.StartTLSExtendedRequest;
import com.unboundid.util.ssl.HostNameSSLSocketVerifier;
import com.unboundid.util.ssl.PEMFileTrustManager;
import com.unboundid.util.ssl.SSLUtil;
import java.io.File;

/** TLS from the first byte and on request, and an untrusted certificate. */
public final class Tls {
    private static LDAPConnection secure(SSLUtil ssl, String url) throws Exception {
        LDAPURL parsed = new LDAPURL(url);
        LDAPConnection connection = new LDAPConnection(ssl.createSSLSocketFactory());
        connection.getConnectionOptions()
                .setSSLSocketVerifier(new HostNameSSLSocketVerifier(true));
        connection.connect(parsed.getHost(), parsed.getPort());
        return connection;
    }

    private static LDAPConnection started(SSLUtil ssl, String url) throws Exception {
        LDAPConnection connection = Site.connect(url);
        connection.getConnectionOptions()
                .setSSLSocketVerifier(new HostNameSSLSocketVerifier(true));
        StartTLSExtendedRequest request = new StartTLSExtendedRequest(ssl.createSSLContext());
        equal("result", connection.processExtendedOperation(request).getResultCode(),
                ResultCode.SUCCESS);
        return connection;
    }

    private static void usable(LDAPConnection connection) throws Exception {
        holds("there is TLS", connection.getSSLSession() != null);
        connection.bind(ADA, "ada");
        for (String who : new String[] {"u:ada", "dn:" + ADA}) {
            connection.bind(new PLAINBindRequest(who, "ada"));
        }
        connection.bind(new PLAINBindRequest("u:ada", "u:ada", "ada"));
        refused(ResultCode.INVALID_CREDENTIALS,
                () -> connection.bind(new PLAINBindRequest("u:ada", "wrong")));
        refused(ResultCode.INVALID_CREDENTIALS,
                () -> connection.bind(new PLAINBindRequest("u:ada", "u:grace", "ada")));
        connection.bind(new PLAINBindRequest("dn:" + ADA, "ada"));
        equal("ada", connection.getEntry(ADA).getAttributeValue("uid"), "ada");
        connection.close();
    }

    public static void main(String[] arguments) throws Exception {
        String plain = arguments[0];
        String secure = arguments[1];
        SSLUtil known = new SSLUtil(new PEMFileTrustManager(new File(arguments[2])));
        usable(secure(known, secure));
        usable(started(known, plain));
        SSLUtil stranger = new SSLUtil();
        refused(ResultCode.CONNECT_ERROR, () -> secure(stranger, secure));
        refused(ResultCode.LOCAL_ERROR, () -> started(stranger, plain));
    }
}
