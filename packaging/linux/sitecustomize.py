"""Keep packages of the user out: this Python is Redwell's alone."""

import site
import sys

sys.path = [path for path in sys.path if not path.startswith(site.getuserbase())]
