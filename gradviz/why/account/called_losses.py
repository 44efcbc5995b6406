"""What the code calls a loss, and what a number that is only measured. Knows no torch."""

from __future__ import annotations

import re

# what a loss is called, and not what is measured beside the training
LOSS = re.compile(
    r"(?<![a-z])(?<!val_)(?<!test_)(?<!eval_)(loss|reg|penalty|kl)"
    r"(?!_?(val|valid|test|eval)(?![a-z]))(?![a-z])",
    re.IGNORECASE,
)
# what is looked at beside a training
MEASURED = re.compile(
    r"^(val|valid|test|eval)_|_(val|valid|test|eval)$|acc|metric|norm|score|error", re.IGNORECASE
)
