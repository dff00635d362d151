"""Keep packages of the user out: this Python is Redwell's alone."""

import site
import sys

_outside = site.getusersitepackages()
sys.path = [path for path in sys.path if path != _outside and not path.startswith(f"{_outside}/")]
