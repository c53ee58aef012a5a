// The life of an entry.

package main

import (
	"sort"

	"github.com/go-ldap/ldap/v3"
)

func newEva() *ldap.AddRequest {
	request := ldap.NewAddRequest(eva, nil)
	request.Attribute("objectClass", []string{"inetOrgPerson", "posixAccount"})
	request.Attribute("uid", []string{"eva"})
	request.Attribute("cn", []string{"Eva", "Eva Lu Ator"})
	request.Attribute("sn", []string{"Lügner"})
	request.Attribute("uidNumber", []string{"1000"})
	request.Attribute("gidNumber", []string{"100"})
	request.Attribute("homeDirectory", []string{"/home/eva"})
	request.Attribute("jpegPhoto", []string{"\x00\x01\xff\x80"})
	return request
}

// person as the library fills it in.
type posix struct {
	DN     string   `ldap:"dn"`
	Names  []string `ldap:"cn"`
	Number int      `ldap:"uidNumber"`
	Photo  []byte   `ldap:"jpegPhoto"`
}

func birth(connection *ldap.Conn) {
	done("add", connection.Add(newEva()))
	came := posix{}
	done("unmarshal", read(connection, eva).Unmarshal(&came))
	sort.Strings(came.Names)
	photo := []byte{0, 1, 0xff, 0x80}
	equal("eva", came, posix{eva, []string{"Eva", "Eva Lu Ator"}, 1000, photo})
	refused(ldap.LDAPResultEntryAlreadyExists, connection.Add(newEva()))
	matched, err := connection.Compare(eva, "sn", "lügner")
	done("compare", err)
	equal("compare", matched, true)
	matched, err = connection.Compare(eva, "sn", "other")
	done("compare", err)
	equal("compare", matched, false)
	_, err = connection.Compare(eva, "mail", "x@y.z")
	refused(ldap.LDAPResultNoSuchAttribute, err)
	result, err := connection.Search(
		search(suffix, ldap.ScopeWholeSubtree, "(&(cn=eva*)(uidNumber>=1000))"))
	done("search", err)
	equal("found", names(result), []string{eva})
	equal("creator", read(connection, eva, "+").GetAttributeValue("creatorsName"), admin)
}

func changes(connection *ldap.Conn) {
	request := ldap.NewModifyRequest(eva, nil)
	request.Add("mail", []string{"eva@example.com", "eva@example.org"})
	request.Replace("sn", []string{"Ator"})
	request.Delete("jpegPhoto", nil)
	request.Increment("uidNumber", "5")
	done("modify", connection.Modify(request))
	came := read(connection, eva)
	equal("uidNumber", came.GetAttributeValue("uidNumber"), "1005")
	equal("sn", came.GetAttributeValue("sn"), "Ator")
	equal("mail", len(came.GetAttributeValues("mail")), 2)
	equal("photo", len(came.GetAttributeValues("jpegPhoto")), 0)
}

// Each refusal has its result code, and changes nothing.
func refusals(connection *ldap.Conn) {
	before := read(connection, eva)
	unchanged := func(code uint16, change func(*ldap.ModifyRequest)) {
		request := ldap.NewModifyRequest(eva, nil)
		change(request)
		refused(code, connection.Modify(request))
	}
	add := func(attribute, value string) func(*ldap.ModifyRequest) {
		return func(it *ldap.ModifyRequest) { it.Add(attribute, []string{value}) }
	}
	remove := func(attribute string, values ...string) func(*ldap.ModifyRequest) {
		return func(it *ldap.ModifyRequest) { it.Delete(attribute, values) }
	}
	unchanged(ldap.LDAPResultAttributeOrValueExists, add("sn", "ATOR"))
	unchanged(ldap.LDAPResultNoSuchAttribute, remove("description", "x"))
	unchanged(ldap.LDAPResultUndefinedAttributeType, add("noSuchType", "x"))
	unchanged(ldap.LDAPResultInvalidAttributeSyntax, add("uidNumber", "many"))
	unchanged(ldap.LDAPResultObjectClassViolation, remove("sn"))
	unchanged(ldap.LDAPResultNotAllowedOnRDN, remove("uid", "eva"))
	unchanged(ldap.LDAPResultConstraintViolation, add("uidNumber", "7"))
	refused(ldap.LDAPResultNotAllowedOnNonLeaf, connection.Del(ldap.NewDelRequest(people, nil)))
	refused(ldap.LDAPResultInvalidDNSyntax, connection.Del(ldap.NewDelRequest("no name", nil)))
	gone := ldap.NewDelRequest("cn=a,ou=b,"+suffix, nil)
	refusal := refused(ldap.LDAPResultNoSuchObject, connection.Del(gone))
	equal("matched name", refusal.MatchedDN, suffix)
	equal("what it was", read(connection, eva), before)
}

func whoAmI(connection *ldap.Conn, controls ...ldap.Control) string {
	result, err := connection.WhoAmI(controls)
	done("who am I", err)
	return result.AuthzID
}

func passwords(url string, connection *ldap.Conn) {
	change := func(who *ldap.Conn, old, made string) string {
		result, err := who.PasswordModify(ldap.NewPasswordModifyRequest(eva, old, made))
		done("password", err)
		return result.GeneratedPassword
	}
	change(connection, "", "first")
	herself := connect(url, "", "")
	refused(ldap.LDAPResultInvalidCredentials, herself.Bind(eva, "wrong"))
	done("bind", herself.Bind(eva, "first"))
	equal("who am I", whoAmI(herself), "dn:"+eva)
	made := change(connection, "", "")
	// The administrator's change ends the connection, at a moment of the server's choice.
	herself.Close()
	herself = connect(url, "", "")
	refused(ldap.LDAPResultInvalidCredentials, herself.Bind(eva, "first"))
	done("bind", herself.Bind(eva, made))
	change(herself, made, "second")
	done("bind", herself.Bind(eva, "second"))
	refused(ldap.LDAPResultInsufficientAccessRights, herself.Del(ldap.NewDelRequest(grace, nil)))
	refused(ldap.LDAPResultUnwillingToPerform, herself.UnauthenticatedBind(eva))
	equal("who am I", whoAmI(herself), "")
	done("unbind", herself.Unbind())
}

func movesAndEnd(connection *ldap.Conn) {
	renamed, home := "uid=lu,"+people, "ou=Alumni,"+suffix
	done("rename", connection.ModifyDN(ldap.NewModifyDNRequest(eva, "uid=lu", false, "")))
	equal("both names", len(read(connection, renamed).GetAttributeValues("uid")), 2)
	unit := ldap.NewAddRequest(home, nil)
	unit.Attribute("objectClass", []string{"organizationalUnit"})
	done("add", connection.Add(unit))
	move := ldap.NewModifyDNRequest(renamed, "uid=lu+sn=Ator", true, home)
	done("move", connection.ModifyDN(move))
	moved := "uid=lu+sn=Ator," + home
	equal("sn", read(connection, moved).GetAttributeValue("sn"), "Ator")
	missing(connection, eva)
	taken := ldap.NewModifyDNRequest(ada, "uid=grace", true, "")
	refused(ldap.LDAPResultEntryAlreadyExists, connection.ModifyDN(taken))
	done("delete", connection.Del(ldap.NewDelRequest(moved, nil)))
	done("delete", connection.Del(ldap.NewDelRequest(home, nil)))
	missing(connection, moved)
}

func life(arguments []string) {
	connection := connect(arguments[0], admin, password)
	equal("who am I", whoAmI(connection), "dn:"+admin)
	birth(connection)
	changes(connection)
	refusals(connection)
	passwords(arguments[0], connection)
	movesAndEnd(connection)
}
