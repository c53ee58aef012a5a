"""Data about the test site, and checks that print the expected and the actual value."""

import os
import sys

SUFFIX = os.environ["SUFFIX"]
ADMIN = os.environ["ADMIN"]
PASSWORD = os.environ["PASSWORD"]
PEOPLE = "ou=People," + SUFFIX
GROUPS = "ou=Groups," + SUFFIX
ADA = "uid=ada," + PEOPLE
GRACE = "uid=grace," + PEOPLE


def arguments():
    """The words after the program's name: URLs mostly."""
    return sys.argv[1:]


def equal(what, came, expected):
    """Ends the program unless both values are equal."""
    if came != expected:
        raise SystemExit(f"{what}: expected {expected!r}, came {came!r}")


def true(what, condition):
    """Ends the program unless the condition holds."""
    if not condition:
        raise SystemExit(f"not true: {what}")


def raises(error, call, *args, **named):
    """Calls and returns the error, of this class and none below it; ends the program on anything else."""
    try:
        came = call(*args, **named)
    except Exception as raised:
        # Some libraries derive a class of the same name when they raise.
        if isinstance(raised, error) and type(raised).__name__ == error.__name__:
            return raised
        raise SystemExit(f"expected {error.__name__}, came {raised!r}") from raised
    raise SystemExit(f"expected {error.__name__}, came {came!r}")
