// Referrals, which the library returns and never follows.

package main

import "github.com/go-ldap/ldap/v3"

func referrals(arguments []string) {
	here, there := arguments[0], arguments[1]
	connection := connect(here, admin, password)
	filter := "(|(uid=ada)(ou=Groups))"
	result, err := connection.Search(search(suffix, ldap.ScopeWholeSubtree, filter))
	done("search", err)
	equal("entries", names(result), []string{groups})
	equal("references", result.Referrals, []string{there + "/" + people + "??sub"})
	_, err = connection.Search(search(ada, ldap.ScopeBaseObject, "(objectClass=*)"))
	refusal := refused(ldap.LDAPResultReferral, err)
	equal("matched name", refusal.MatchedDN, people)
	changed, err := connection.ModifyWithResult(replace(ada, "sn", "Byron"))
	refused(ldap.LDAPResultReferral, err)
	equal("referral", changed.Referral, there+"/"+ada)
	// Following it is up to the program.
	elsewhere := connect(there, admin, password)
	done("modify", elsewhere.Modify(replace(ada, "sn", "Byron")))

	itself := ldap.NewControlManageDsaIT(true)
	request := search(people, ldap.ScopeBaseObject, "(objectClass=referral)", "ref")
	request.Controls = []ldap.Control{itself}
	result, err = connection.Search(request)
	done("search", err)
	equal("ref", result.Entries[0].GetAttributeValue("ref"), there+"/"+people)
	remove := ldap.NewDelRequest(people, []ldap.Control{itself})
	done("delete", connection.Del(remove))
	missing(connection, people)
}
