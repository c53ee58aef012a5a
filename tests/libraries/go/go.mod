module pando.test/libraries

go 1.20

require (
	github.com/go-asn1-ber/asn1-ber v1.5.7
	github.com/go-ldap/ldap/v3 v3.4.10
)

require (
	github.com/Azure/go-ntlmssp v0.0.0-20221128193559-754e69321358 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/crypto v0.31.0 // indirect
)
