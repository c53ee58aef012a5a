"""LDAP Account Manager: logs in, and makes a Unix group and a user whose primary group it is.

Arguments: address of the pages, DN and password of the administrator, suffix.
"""

import sys
from urllib.parse import quote

from browser import Browser

url, _, password, suffix = sys.argv[1:]
created = "Account was created successfully"

browser = Browser()
browser.open(url + "/templates/login.php")
browser.press("checklogin", "passwd", passwd=password)
browser.expect("Logout")

groups = quote("ou=Groups," + suffix)
browser.open("/templates/account/edit.php?type=group&suffix=" + groups)
browser.press("accountContainerSaveAccount", "cn", cn="printers")
browser.expect(created)

people = quote("ou=People," + suffix)
browser.open("/templates/account/edit.php?type=user&suffix=" + people)
browser.press("form_main_posixAccount", "sn", givenName="Grace", sn="Hopper")
browser.expect("printers")
browser.press("accountContainerSaveAccount", "uid", uid="grace")
browser.expect(created)
