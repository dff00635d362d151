"""Make the modules of tests/fixtures importable from every test; draw the same examples in every run.

HYPOTHESIS_PROFILE=explore draws new examples instead, to look for what no one has thought of.
"""

import os
import sys
from pathlib import Path

from hypothesis import settings

settings.register_profile("repeat", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
sys.path.insert(0, str(Path(__file__).parent / "fixtures"))
