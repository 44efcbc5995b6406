"""Draws one of the two sets: ``python -m gallery small`` or ``python -m gallery real``."""

import sys
from pathlib import Path

SETS = ("small", "real")

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "outline"))
if sys.argv[1:] == ["small"]:
    from gallery import small

    small.main()
elif sys.argv[1:] == ["real"]:
    from gallery import real

    real.main()
else:
    sys.exit(f"python -m gallery was given {sys.argv[1:]}; expected one of {', '.join(SETS)}.")
