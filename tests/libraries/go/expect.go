// Data about the test site, and checks that print the expected and the actual value.

package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/go-ldap/ldap/v3"
)

var (
	suffix   = os.Getenv("SUFFIX")
	admin    = os.Getenv("ADMIN")
	password = os.Getenv("PASSWORD")
	people   = "ou=People," + suffix
	groups   = "ou=Groups," + suffix
	ada      = "uid=ada," + people
	grace    = "uid=grace," + people
	eva      = "uid=eva," + people
)

// fail ends the program.
func fail(format string, words ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", words...)
	os.Exit(1)
}

// equal ends the program unless both values are equal.
func equal(what string, came, expected any) {
	if !reflect.DeepEqual(came, expected) {
		fail("%s: expected %v, came %v", what, expected, came)
	}
}

// done ends the program if there was an error.
func done(what string, err error) {
	if err != nil {
		fail("%s: %v", what, err)
	}
}

// refused ends the program unless the error has a result code.
func refused(code uint16, err error) *ldap.Error {
	refusal, ok := err.(*ldap.Error)
	if !ok || refusal.ResultCode != code {
		fail("expected %q, came %v", ldap.LDAPResultCodeMap[code], err)
	}
	return refusal
}

// connect opens a connection bound as a name, anonymous without one.
func connect(url, name, secret string) *ldap.Conn {
	connection, err := ldap.DialURL(url)
	done("connect", err)
	if name != "" {
		done("bind", connection.Bind(name, secret))
	}
	return connection
}

// search returns the entries below a base that match a filter.
func search(base string, scope int, filter string, attributes ...string) *ldap.SearchRequest {
	never := ldap.NeverDerefAliases
	return ldap.NewSearchRequest(base, scope, never, 0, 0, false, filter, attributes, nil)
}

// read returns one entry.
func read(connection *ldap.Conn, name string, attributes ...string) *ldap.Entry {
	request := search(name, ldap.ScopeBaseObject, "(objectClass=*)", attributes...)
	result, err := connection.Search(request)
	done("read "+name, err)
	return result.Entries[0]
}

// missing ends the program if the entry exists.
func missing(connection *ldap.Conn, name string) {
	_, err := connection.Search(search(name, ldap.ScopeBaseObject, "(objectClass=*)"))
	refused(ldap.LDAPResultNoSuchObject, err)
}

// replace returns the request that replaces the values of an attribute.
func replace(name, attribute, value string, controls ...ldap.Control) *ldap.ModifyRequest {
	request := ldap.NewModifyRequest(name, controls)
	request.Replace(attribute, []string{value})
	return request
}

// person returns the request that adds a person.
func person(name string) *ldap.AddRequest {
	request := ldap.NewAddRequest(name, nil)
	request.Attribute("objectClass", []string{"inetOrgPerson"})
	request.Attribute("cn", []string{"Eva"})
	request.Attribute("sn", []string{"Eva"})
	return request
}

func names(result *ldap.SearchResult) []string {
	found := []string{}
	for _, entry := range result.Entries {
		found = append(found, entry.DN)
	}
	return found
}
