// TLS from the first byte and on request, and an untrusted certificate.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/go-ldap/ldap/v3"
)

func overTLS(arguments []string) {
	plainURL, secureURL := arguments[0], arguments[1]
	certificate, err := os.ReadFile(arguments[2])
	done("certificate", err)
	pool := x509.NewCertPool()
	equal("it is a certificate", pool.AppendCertsFromPEM(certificate), true)
	known := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	stranger := &tls.Config{ServerName: "127.0.0.1"}

	connection, err := ldap.DialURL(secureURL, ldap.DialWithTLSConfig(known))
	done("ldaps", err)
	done("bind", connection.Bind(ada, "ada"))
	equal("who am I", whoAmI(connection), "dn:"+ada)
	connection = connect(plainURL, "", "")
	done("StartTLS", connection.StartTLS(known))
	state, secure := connection.TLSConnectionState()
	equal("there is TLS", secure && state.HandshakeComplete, true)
	done("bind", connection.Bind(ada, "ada"))
	equal("who am I", whoAmI(connection), "dn:"+ada)

	_, err = ldap.DialURL(secureURL, ldap.DialWithTLSConfig(stranger))
	refused(ldap.ErrorNetwork, err)
	refused(ldap.ErrorNetwork, connect(plainURL, "", "").StartTLS(stranger))
}
