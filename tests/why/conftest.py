"""What every test of ``why`` holds besides: no explanation is made whose cause is a bare word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gradviz.why.causes import Cause
from gradviz.why.explanation import Explanation


@pytest.fixture(autouse=True, scope="package")
def every_cause_is_a_member() -> Iterator[None]:
    """Refuse each Explanation, made anew or from another, whose cause is no member of Cause."""
    make, replace = Explanation.__new__, Explanation._replace

    def made(cls: type[Explanation], cause: Any, *rest: Any, **named: Any) -> Explanation:
        assert isinstance(cause, Cause), f"{cause!r} is a bare word"
        return make(cls, cause, *rest, **named)

    def replaced(self: Explanation, **named: Any) -> Explanation:
        assert isinstance(named.get("cause", self.cause), Cause), f"{named['cause']!r} is bare"
        return replace(self, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Explanation, "__new__", made)
        patch.setattr(Explanation, "_replace", replaced)
        yield
