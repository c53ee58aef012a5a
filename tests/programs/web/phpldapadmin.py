"""phpLDAPadmin: logs in, chooses the template "Generic: Posix Group", fills it in and confirms.

Arguments: address of the pages, DN and password of the administrator, suffix.
"""

import re
import sys
from urllib.parse import quote

from browser import Browser

url, admin, password, suffix = sys.argv[1:]

browser = Browser()
browser.open(url + "/htdocs/cmd.php?cmd=login_form&server_id=1")
browser.press(None, "login_pass", login=admin, login_pass=password)
browser.expect("Logged in as")

create = "/htdocs/cmd.php?cmd=template_engine&server_id=1&container=" + quote("ou=Groups," + suffix)
browser.open(create)
browser.expect("Generic: Posix Group")
# Behind the colon stands the place of the template in the folder.
template = re.search(r'value="(posixGroup:\d+)"', browser.text)
if not template:
    raise SystemExit(f"{browser.url}: expected the template posixGroup to be offered\n{browser.text}")
browser.open(create + "&template=" + template.group(1))
browser.press(None, "new_values[cn][0]", **{"new_values[cn][0]": "printers", "new_values[memberuid][]": "ada"})
browser.expect("printers")
browser.press(None, "new_values[cn][0]")
browser.expect("Creation successful")
