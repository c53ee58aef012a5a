// go-ldap as a client: `clients PART URL…` exits with 0, or prints the expected and the actual value.

package main

import "os"

func main() {
	parts := map[string]func([]string){
		"controls":     controls,
		"following":    following,
		"life":         life,
		"lists":        lists,
		"referrals":    referrals,
		"tls":          overTLS,
		"transactions": transactions,
	}
	part, ok := parts[os.Args[1]]
	if !ok {
		fail("no part %q", os.Args[1])
	}
	part(os.Args[2:])
}
