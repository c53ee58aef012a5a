package unboundid;

import static site.Expect.ADA;
import static site.Expect.equal;
import static site.Expect.holds;

import com.unboundid.ldap.sdk.LDAPBindException;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPURL;
import com.unboundid.ldap.sdk.OAUTHBEARERBindRequest;
import com.unboundid.ldap.sdk.OAUTHBEARERBindResult;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.util.ssl.PEMFileTrustManager;
import com.unboundid.util.ssl.SSLUtil;
import java.io.File;

/** Binds by tokens: one that is accepted, and one without a scope that is needed. */
public final class Bearer {
    public static void main(String[] arguments) throws Exception {
        LDAPURL url = new LDAPURL(arguments[0]);
        SSLUtil ssl = new SSLUtil(new PEMFileTrustManager(new File(arguments[1])));
        try (LDAPConnection connection = new LDAPConnection(
                ssl.createSSLSocketFactory(), url.getHost(), url.getPort())) {
            String[] offered = connection.getRootDSE().getSupportedSASLMechanismNames();
            holds("offered", String.join(" ", offered).contains("OAUTHBEARER"));
            connection.bind(new OAUTHBEARERBindRequest(arguments[2]));
            equal("ada", connection.getEntry(ADA).getAttributeValue("uid"), "ada");
            try {
                connection.bind(new OAUTHBEARERBindRequest(arguments[3]));
                throw new AssertionError("a token without the scope is accepted");
            } catch (LDAPBindException error) {
                equal("result", error.getResultCode(), ResultCode.INVALID_CREDENTIALS);
                OAUTHBEARERBindResult told = (OAUTHBEARERBindResult) error.getBindResult();
                equal("status", told.getAuthorizationErrorCode(), "insufficient_scope");
                equal("scopes", String.join(" ", told.getScopes()), "directory");
                equal("document", told.getOpenIDConfigurationURL(), "https://id.example.com/doc");
            }
            connection.bind(new OAUTHBEARERBindRequest(arguments[2]));
        }
    }
}
