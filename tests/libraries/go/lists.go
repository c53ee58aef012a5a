// Pages and sorting of three thousand people.

package main

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/go-ldap/ldap/v3"
)

func everybody(controls ...ldap.Control) *ldap.SearchRequest {
	request := search(people, ldap.ScopeSingleLevel, "(objectClass=person)", "uid")
	request.Controls = controls
	return request
}

func uids(result *ldap.SearchResult) []string {
	found := []string{}
	for _, entry := range result.Entries {
		found = append(found, entry.GetAttributeValue("uid"))
	}
	return found
}

// sorting reads entries one by one: version 3.4.10 cannot read the response control of any server
// that follows RFC 2891, and so returns an error where Search would return the entries.
func sorting(connection *ldap.Conn, all []string) {
	key := ldap.SortKey{AttributeType: "uid", MatchingRule: "caseIgnoreOrderingMatch"}
	order := ldap.NewControlServerSideSortingWithSortKeys([]*ldap.SortKey{&key})
	for _, reverse := range []bool{false, true} {
		key.Reverse = reverse
		found := &ldap.SearchResult{}
		response := connection.SearchAsync(context.Background(), everybody(order), 64)
		for response.Next() {
			found.Entries = append(found.Entries, response.Entry())
		}
		expected := append([]string{}, all...)
		if reverse {
			sort.Sort(sort.Reverse(sort.StringSlice(expected)))
		}
		equal("sorted", uids(found), expected)
		if err := response.Err(); !strings.HasSuffix(err.Error(), "bad packet") {
			fail("expected the library's own trouble, came %v", err)
		}
	}
}

func lists(arguments []string) {
	connection := connect(arguments[0], admin, password)
	all := []string{}
	for number := 0; number < 3000; number++ {
		all = append(all, fmt.Sprintf("p%d", number))
	}
	sort.Strings(all)
	result, err := connection.SearchWithPaging(everybody(), 500)
	done("pages", err)
	found := uids(result)
	sort.Strings(found)
	equal("pages", found, all)

	sorting(connection, all)

	// Entries one by one, and the rest given up.
	stop, cancel := context.WithCancel(context.Background())
	response := connection.SearchAsync(stop, everybody(), 0)
	for number := 0; number < 10; number++ {
		equal("there is one more", response.Next(), true)
		equal("its people", response.Entry() != nil, true)
	}
	cancel()
	for response.Next() {
		// The library wants what had come by then to be taken.
	}
	limited := everybody()
	limited.SizeLimit = 7
	result, err = connection.Search(limited)
	refused(ldap.LDAPResultSizeLimitExceeded, err)
	equal("how many", len(result.Entries), 7)
}
