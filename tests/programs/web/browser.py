"""A browser without a screen: it keeps cookies, follows redirects, fills in forms and presses buttons.

It sends for a form the fields that a browser would send: those that the page has, with the values of the
page, and of its buttons the one that is pressed.
"""

import html
import html.parser
import http.cookiejar
import re
import urllib.parse
import urllib.request


class _Forms(html.parser.HTMLParser):
    """The forms of one page, each with its action and its fields in order."""

    def __init__(self, text):
        super().__init__()
        self.forms = []
        self._select = self._textarea = None
        self.feed(text)

    def handle_starttag(self, tag, pairs):
        attributes = dict(pairs)
        if tag == "form":
            self.forms.append({"action": attributes.get("action") or "", "fields": [], "buttons": {}})
        elif not self.forms or "disabled" in attributes:
            return
        form, name = self.forms[-1], attributes.get("name")
        if tag == "input" and name:
            self._input(form, name, attributes)
        elif tag == "button" and name:
            form["buttons"][name] = attributes.get("value") or ""
        elif tag == "select":
            self._select = (name, "multiple" in attributes, [])
        elif tag == "option" and self._select:
            # Without a value, the text that follows is the value.
            self._select[2].append([attributes.get("value"), "selected" in attributes])
        elif tag == "textarea" and name:
            self._textarea = (name, [])

    def _input(self, form, name, attributes):
        kind = (attributes.get("type") or "text").lower()
        value = attributes.get("value")
        if kind in ("submit", "image", "button"):
            form["buttons"][name] = value or ""
        elif kind in ("checkbox", "radio"):
            if "checked" in attributes:
                form["fields"].append((name, "on" if value is None else value))
        elif kind != "file":
            form["fields"].append((name, value or ""))

    def handle_data(self, data):
        if self._select and self._select[2] and self._select[2][-1][0] is None:
            self._select[2][-1][0] = data.strip()
        if self._textarea:
            self._textarea[1].append(data)

    def handle_endtag(self, tag):
        if tag == "select" and self._select:
            name, multiple, options = self._select
            chosen = [value or "" for value, selected in options if selected]
            if not chosen and options and not multiple:
                chosen = [options[0][0] or ""]
            if name:
                self.forms[-1]["fields"].extend((name, value) for value in chosen)
            self._select = None
        elif tag == "textarea" and self._textarea:
            name, texts = self._textarea
            self.forms[-1]["fields"].append((name, "".join(texts)))
            self._textarea = None


class Browser:
    """A browser session. `text` is the page that was opened last, `url` its address."""

    def __init__(self):
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        self.url = self.text = ""

    def open(self, url, data=None):
        """Opens a page, relative to the one that is open; with data, by POST."""
        address = urllib.parse.urljoin(self.url, url)
        with self._opener.open(address, data, timeout=60) as answer:
            self.url = answer.geturl()
            self.text = answer.read().decode("utf-8", "replace")

    def press(self, button, into, **changes):
        """Fills in the form that has a field named `into`, and presses one of its buttons, or none.

        A change to a name that the form does not have is added to it.
        """
        forms = _Forms(self.text).forms
        mine = [it for it in forms if any(name == into for name, _ in it["fields"])]
        if not mine:
            raise SystemExit(f"{self.url}: expected a form with {into!r}, got {forms}\n{self.text}")
        form = mine[0]
        fields = [(name, value) for name, value in form["fields"] if name not in changes]
        fields.extend(changes.items())
        if button:
            if button not in form["buttons"]:
                raise SystemExit(f"{self.url}: expected a button {button!r}, got {form['buttons']}")
            fields.append((button, form["buttons"][button]))
        data = urllib.parse.urlencode(fields).encode()
        self.open(form["action"] or self.url, data)

    def option(self, text):
        """Returns the value of the option labelled `text` in a list of the page."""
        found = re.search(rf'<option[^>]*value="([^"]*)"[^>]*>\s*{re.escape(text)}\s*<', self.text)
        if not found:
            raise SystemExit(f"{self.url}: expected a choice that reads {text!r}, got\n{self.text}")
        return html.unescape(found.group(1))

    def expect(self, text):
        """Ends the program unless the page contains `text`."""
        if text not in self.text:
            raise SystemExit(f"{self.url}: expected a page that says {text!r}, got\n{self.text}")
