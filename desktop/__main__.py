"""Start the app: `python -m desktop [CASE]`."""

from __future__ import annotations

import sys

from desktop.app import main

sys.exit(main(sys.argv))
