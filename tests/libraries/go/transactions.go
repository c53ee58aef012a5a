// Transactions (RFC 5805) with generic operations and controls.

package main

import (
	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

const (
	postRead      = "1.3.6.1.1.13.2"
	start         = "1.3.6.1.1.21.1"
	specification = "1.3.6.1.1.21.2"
	end           = "1.3.6.1.1.21.3"
)

type transaction struct {
	connection *ldap.Conn
	identifier string
}

func begin(connection *ldap.Conn) transaction {
	response, err := connection.Extended(ldap.NewExtendedRequest(start, nil))
	done("start", err)
	// The response has no name, so the library takes the identifier for the name.
	return transaction{connection, response.Name}
}

func (it transaction) surname(name, value string) {
	// A selection of `sn`. The response to the end carries the entry read.
	selection := plain(postRead, "\x30\x04\x04\x02sn")
	request := replace(name, "sn", value, plain(specification, it.identifier), selection)
	done("modify", it.connection.Modify(request))
}

func (it transaction) end(commit bool) error {
	octets, class := ber.TypePrimitive, ber.ClassUniversal
	settled := ber.NewSequence("txnEndReq")
	settled.AppendChild(ber.NewBoolean(class, octets, ber.TagBoolean, commit, "commit"))
	settled.AppendChild(
		ber.NewString(class, octets, ber.TagOctetString, it.identifier, "identifier"))
	value := ber.Encode(ber.ClassContext, octets, 1, nil, "requestValue")
	value.AppendChild(settled)
	_, err := it.connection.Extended(ldap.NewExtendedRequest(end, value))
	return err
}

func surnames(connection *ldap.Conn) string {
	surname := func(name string) string { return read(connection, name).GetAttributeValue("sn") }
	return surname(ada) + " " + surname(grace)
}

func transactions(arguments []string) {
	connection := connect(arguments[0], admin, password)
	other := connect(arguments[0], admin, password)
	first := begin(connection)
	first.surname(ada, "Byron")
	first.surname(grace, "Hopper")
	equal("before the end", surnames(other), "ada grace")
	done("commit", first.end(true))
	equal("committed", surnames(other), "Byron Hopper")

	second := begin(connection)
	second.surname(ada, "King")
	// An end that has neither name nor value is a success that the library cannot read.
	_, unread := second.end(false).(*ldap.Error)
	equal("an error with a result code", unread, false)
	equal("aborted", surnames(other), "Byron Hopper")
	refused(ldap.LDAPResultUnwillingToPerform, second.end(true))

	third := begin(connection)
	third.surname(ada, "King")
	third.surname("uid=missing,"+people, "Nobody")
	refused(ldap.LDAPResultNoSuchObject, third.end(true))
	equal("taken back", surnames(other), "Byron Hopper")
}
