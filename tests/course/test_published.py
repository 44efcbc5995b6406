"""What other sites are told of the published pages."""

from __future__ import annotations

import pytest

from course import pages, site


def test_a_link_to_the_site_is_shown_with_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "Owner/site")
    address = site.published(site.PREVIEW)
    assert address == "https://owner.github.io/site/preview.png"
    page = pages.document("A title", "", preview=address)
    assert f'<meta property="og:image" content="{address}">' in page
    assert '<meta property="og:title" content="A title">' in page
    assert "og:" not in pages.document("A title", "")
