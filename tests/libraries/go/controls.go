// Controls: with types in the library, and generic ones with a plain text or no value.

package main

import "github.com/go-ldap/ldap/v3"

const (
	authorizationIdentity = "2.16.840.1.113730.3.4.16"
	dontUseCopy           = "1.3.6.1.1.22"
	permissiveModify      = "1.2.840.113556.1.4.1413"
	proxiedAuthorization  = "2.16.840.1.113730.3.4.18"
	subentries            = "1.3.6.1.4.1.4203.1.10.1"
)

func plain(oid, value string) ldap.Control {
	return ldap.NewControlString(oid, true, value)
}

func unit(name string) *ldap.AddRequest {
	request := ldap.NewAddRequest(name, nil)
	request.Attribute("objectClass", []string{"organizationalUnit"})
	return request
}

func ofWrites(connection *ldap.Conn) {
	again := ldap.NewModifyRequest(ada, nil)
	again.Add("sn", []string{"ada"})
	refused(ldap.LDAPResultAttributeOrValueExists, connection.Modify(again))
	again.Controls = []ldap.Control{plain(permissiveModify, "")}
	done("permissive modify", connection.Modify(again))
	old := "ou=Old," + suffix
	done("add", connection.Add(unit(old)))
	done("add", connection.Add(unit("ou=Below,"+old)))
	refused(ldap.LDAPResultNotAllowedOnNonLeaf, connection.Del(ldap.NewDelRequest(old, nil)))
	tree := []ldap.Control{ldap.NewControlSubtreeDelete()}
	done("tree delete", connection.Del(ldap.NewDelRequest(old, tree)))
	missing(connection, old)
}

func ofReads(connection *ldap.Conn) {
	request := search(ada, ldap.ScopeBaseObject, "(objectClass=*)")
	request.Controls = []ldap.Control{plain(dontUseCopy, "")}
	result, err := connection.Search(request)
	done("don't use copy", err)
	equal("found", names(result), []string{ada})
	area := ldap.NewModifyRequest(suffix, nil)
	area.Add("administrativeRole", []string{"collectiveAttributeSpecificArea"})
	done("modify", connection.Modify(area))
	phones := ldap.NewAddRequest("cn=phones,"+suffix, nil)
	phones.Attribute("objectClass", []string{"subentry", "collectiveAttributeSubentry"})
	phones.Attribute("subtreeSpecification", []string{"{ }"})
	done("add", connection.Add(phones))
	request = search(suffix, ldap.ScopeWholeSubtree, "(objectClass=*)")
	request.Controls = []ldap.Control{plain(subentries, "\x01\x01\xff")}
	result, err = connection.Search(request)
	done("subentries", err)
	equal("found", names(result), []string{"cn=phones," + suffix})
}

func ofEverything(url string, connection *ldap.Conn) {
	asAda := plain(proxiedAuthorization, "dn:"+ada)
	equal("who am I", whoAmI(connection, asAda), "dn:"+ada)
	request := ldap.NewDelRequest(grace, []ldap.Control{asAda})
	refused(ldap.LDAPResultInsufficientAccessRights, connection.Del(request))
	herself := connect(url, "", "")
	identity := []ldap.Control{plain(authorizationIdentity, "")}
	bound, err := herself.SimpleBind(ldap.NewSimpleBindRequest(grace, "grace", identity))
	done("bind", err)
	equal("controls", len(bound.Controls), 1)
	refused(ldap.LDAPResultAuthorizationDenied, herself.Del(request))
	request.Controls = []ldap.Control{plain("1.2.3.4.5", "")}
	refused(ldap.LDAPResultUnavailableCriticalExtension, connection.Del(request))
	done("close", connection.Close())
}

func controls(arguments []string) {
	connection := connect(arguments[0], admin, password)
	ofWrites(connection)
	ofReads(connection)
	ofEverything(arguments[0], connection)
}
