"""phpLDAPadmin: logs in, and makes a Unix group and a user in it from the templates that it comes with.

Arguments: address of the pages, DN and password of the administrator, suffix.
"""

import re
import sys
from urllib.parse import quote

from browser import Browser

url, admin, password, suffix = sys.argv[1:]

browser = Browser()


def choose(template, unit):
    """Opens the form of a template for an entry below a unit."""
    address = "/htdocs/cmd.php?cmd=template_engine&server_id=1&container=" + quote(f"ou={unit},{suffix}")
    browser.open(address)
    # Behind the colon stands the place of the template in its folder.
    offered = re.search(rf'value="({template}:\d+)"', browser.text)
    if not offered:
        raise SystemExit(f"{browser.url}: expected the template {template} to be offered\n{browser.text}")
    browser.open(address + "&template=" + offered.group(1))


def create(values):
    """Fills in the form that is open, and confirms what phpLDAPadmin then shows.

    `values` has them by the attribute and, in brackets, the number of the value, if the form numbers it.
    """
    changes = {"new_values" + name: value for name, value in values.items()}
    browser.press(None, "new_values[cn][0]", **changes)
    browser.expect(values["[cn][0]"])
    browser.press(None, "new_values[cn][0]")
    browser.expect("Creation successful")


browser.open(url + "/htdocs/cmd.php?cmd=login_form&server_id=1")
browser.press(None, "login_pass", login=admin, login_pass=password)
browser.expect("Logged in as")
choose("posixGroup", "Groups")
create({"[cn][0]": "printers", "[memberuid][]": "ada"})
choose("posixAccount", "People")
create(
    {
        "[givenname][0]": "Grace",
        "[sn][0]": "Hopper",
        "[cn][0]": "Grace Hopper",
        "[uid][0]": "grace",
        "[userpassword][0]": "a password",
        "[gidnumber][]": browser.option("printers"),
        "[homedirectory][0]": "/home/grace",
    },
)
