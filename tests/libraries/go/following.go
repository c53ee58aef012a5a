// Content synchronisation.

package main

import (
	"context"
	"sort"
	"strings"

	"github.com/go-ldap/ldap/v3"
)

var states = map[ldap.ControlSyncStateState]string{
	ldap.SyncStateAdd:    "add",
	ldap.SyncStateModify: "modify",
	ldap.SyncStateDelete: "delete",
}

// next returns the next message: state and name of an entry, or a control.
func next(response ldap.Response) (string, ldap.Control) {
	if !response.Next() {
		fail("the search ended: %v", response.Err())
	}
	controls := response.Controls()
	if entry := response.Entry(); entry != nil {
		state, ok := controls[0].(*ldap.ControlSyncState)
		if !ok {
			fail("expected the state of %s, came %v", entry.DN, controls)
		}
		return states[state.State] + " " + entry.DN, nil
	}
	return "", controls[0]
}

// refresh synchronises once; returns the messages, sorted, and the cookie.
func refresh(connection *ldap.Conn, cookie []byte) (string, []byte) {
	request := search(people, ldap.ScopeWholeSubtree, "(uid=*)")
	mode := ldap.SyncRequestModeRefreshOnly
	response := connection.Syncrepl(context.Background(), request, 64, mode, cookie, false)
	said := []string{}
	for {
		line, control := next(response)
		if end, ok := control.(*ldap.ControlSyncDone); ok {
			sort.Strings(said)
			return strings.ReplaceAll(strings.Join(said, " "), ","+people, ""), end.Cookie
		}
		said = append(said, line)
	}
}

func nowAndThen(connection *ldap.Conn) {
	said, cookie := refresh(connection, nil)
	equal("said", said, "add uid=ada add uid=edsger add uid=grace")
	done("add", connection.Add(person(eva)))
	done("modify", connection.Modify(replace(ada, "sn", "Byron")))
	done("delete", connection.Del(ldap.NewDelRequest(grace, nil)))
	said, _ = refresh(connection, cookie)
	equal("said", said, "add uid=ada add uid=eva delete uid=grace")
	done("delete", connection.Del(ldap.NewDelRequest(eva, nil)))
}

func allTheTime(watch, connection *ldap.Conn) {
	stop, cancel := context.WithCancel(context.Background())
	defer cancel()
	request := search(people, ldap.ScopeWholeSubtree, "(uid=*)")
	mode := ldap.SyncRequestModeRefreshAndPersist
	response := watch.Syncrepl(stop, request, 64, mode, nil, false)
	expect := func(expected string) {
		line, control := next(response)
		if control != nil {
			fail("expected %s, came %v", expected, control)
		}
		equal("said", line, expected)
	}
	expect("add " + ada)
	expect("add uid=edsger," + people)
	_, control := next(response)
	info, ok := control.(*ldap.ControlSyncInfo)
	if !ok || info.RefreshDelete == nil && info.RefreshPresent == nil {
		fail("expected the end of the refresh, came %v", control)
	}
	done("add", connection.Add(person(eva)))
	expect("add " + eva)
	done("rename", connection.ModifyDN(ldap.NewModifyDNRequest(eva, "uid=lu", true, "")))
	expect("modify uid=lu," + people)
	done("delete", connection.Del(ldap.NewDelRequest("uid=lu,"+people, nil)))
	expect("delete uid=lu," + people)
}

func following(arguments []string) {
	connection := connect(arguments[0], admin, password)
	nowAndThen(connection)
	allTheTime(connect(arguments[0], admin, password), connection)
}
