"""The front end alone: the same script that the widget loads, on a bare page without a notebook or
a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from lab import ARTEFACTS
from live import module_of
from playwright.sync_api import Browser, Page, expect
from recordings import course

import gradviz as gv
from gradviz.live.widget import SCRIPT, STYLES
from gradviz.picture.page import static, styles
from gradviz.picture.state import state

pytestmark = pytest.mark.dear(16)

PROBES = (Path(__file__).parent / "probes.js").read_text(encoding="utf-8")
PAGE = (
    '<!doctype html><body style="margin:20px"><div id="one" style="width:880px"></div><div'
    ' id="two"></div>'
)
DARK = "--jp-layout-color0:#111;--jp-layout-color1:#212121;--jp-ui-font-color0:rgba(255,255,255,1)"
EVIL = "window.ran = true"
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0'
    ' 0 9 9" '
)
HOSTILE = {
    "script": f"{HEAD}><script>{EVIL}</script></svg>",
    "onload": f'{HEAD} onload="{EVIL}"><g onload="{EVIL}" onmouseover="{EVIL}"/></svg>',
    "link": (
        f'{HEAD}><a href="javascript:{EVIL}"><text>x</text></a><a'
        f' xlink:href="javascript:{EVIL}"/></svg>'
    ),
    "html": (
        f'{HEAD}><foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="x"'
        f' onerror="{EVIL}"/></foreignObject></svg>'
    ),
    "style": (
        f'{HEAD}><style>@import "http://evil.test/x.css"</style><g'
        ' style="fill:url(http://evil.test/x)"/></svg>'
    ),
    "paint": f'{HEAD}><path d="M0 0" fill="url(http://evil.test/x#y)" stroke="url(#z)"/></svg>',
    "image": (
        f'{HEAD}><image href="data:image/svg+xml,&lt;svg onload=&quot;{EVIL}&quot;/&gt;"/></svg>'
    ),
    "use": f'{HEAD}><use href="http://evil.test/x.svg#y"/><filter/><mask/></svg>',
    "animate": (
        f'{HEAD}><text><animate attributeName="href"'
        f' values="javascript:{EVIL}"/><set/>x</text></svg>'
    ),
    "transform": (
        f'{HEAD}><g transform="url(javascript:{EVIL})" class="gv-panel node evil"'
        ' id="x-evil"/></svg>'
    ),
    "namespace": f'{HEAD}><script xmlns="http://www.w3.org/1999/xhtml">{EVIL}</script></svg>',
    "deep": HEAD + ">" + "<g>" * 3000 + f"<script>{EVIL}</script>" + "</g>" * 3000 + "</svg>",
}
REFUSED = {
    "entity": (
        '<!DOCTYPE svg [<!ENTITY x "<script>window.ran=true</script>">]>'
        + HEAD
        + "><text>&x;</text></svg>"
    ),
    "html": "<html xmlns='http://www.w3.org/1999/xhtml'><script>window.ran = true</script></html>",
    "malformed": HEAD + "><g></svg>",
    "no size": '<svg xmlns="http://www.w3.org/2000/svg"/>',
}


def chain(length: int) -> gv.Recording:
    with gv.record() as rec:
        h = x = torch.tensor([0.5, 0.25], requires_grad=True)
        for _ in range(length):
            h = torch.tanh(h)
        (h + x.detach()).sum().backward()
    return rec


def many(leaves: int) -> gv.Recording:
    """A picture that is too wide and too high for its frame."""
    with gv.record() as rec:
        whole = torch.zeros(2)
        for _ in range(leaves):
            leaf = torch.tensor([0.5, 0.25], requires_grad=True)
            whole = torch.tanh(whole * leaf.exp() + leaf)
        whole.sum().backward()
    return rec


@pytest.fixture(scope="module")
def states() -> dict[str, Any]:
    recordings = {
        "clone": course(),
        "detach": course(torch.detach),
        "tall": chain(15),
        "many": many(9),
    }
    # a picture as tall as that is drawn card by card on request alone
    return {name: state(gv.Figure(rec.graph, fold=False)) for name, rec in recordings.items()}


@pytest.fixture
def page(browser: Browser, states: dict[str, Any]) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    strangers: list[str] = []
    page.on("request", lambda request: strangers.append(request.url))
    page.set_content(PAGE)
    page.add_style_tag(content=styles(*STYLES))
    page.evaluate(
        "async script => { window.gv = await import(script); }", module_of(static(SCRIPT))
    )
    page.add_script_tag(content=PROBES, type="module")
    page.wait_for_function("window.gv && window.probes")
    page.evaluate(
        """states => { window.S = states; window.picked = [];
        window.P = gv.mountPanel(document.getElementById("one"), {onSelect: card => picked.push(card)}); }""",
        states,
    )
    yield page
    assert (errors, strangers, page.evaluate("window.ran")) == ([], [], None)
    page.close()


def shoot(page: Page, name: str) -> None:
    page.screenshot(path=ARTEFACTS / f"front-end-{name}.png")


def card(page: Page, key: str) -> str:
    """The selector of the card of that key in the state shown last."""
    found = page.evaluate("key => Object.entries(now.cards).find(([, c]) => c.key === key)[0]", key)
    return f'#one [data-gv="{found}"]'


def show(page: Page, name: str) -> None:
    page.evaluate("name => { window.now = S[name]; P.show(now); }", name)


# --- safety ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_hostile_survives(page: Page, kind: str) -> None:
    left = page.evaluate(
        "text => { const svg = gv.cleanSvg(text, 'p'); document.body.append(svg); return"
        " probes.left(svg); }",
        HOSTILE[kind],
    )
    page.wait_for_timeout(30)
    assert set(left) <= {"g", "path", "text", "d=M0 0", "class=gv-node"}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_plain_svg_is_refused_and_the_text_is_shown(page: Page, kind: str) -> None:
    assert page.evaluate("text => gv.cleanSvg(text, 'p')", REFUSED[kind]) is None
    page.evaluate(
        "svg => P.show({...S.clone, svg, text: '<script>window.ran=true</script>'})", REFUSED[kind]
    )
    assert page.locator(".gv-twin").text_content() == "<script>window.ran=true</script>"
    assert page.locator(".gv-problem").is_visible()
    assert not page.locator(".gv-view").is_visible()


def test_real_pictures_lose_nothing_but_titles(page: Page, states: dict[str, Any]) -> None:
    for name in states:
        assert page.evaluate("text => probes.lost(text)", states[name]["svg"]) == 0


def test_text_is_never_markup(page: Page) -> None:
    evil = f'<img src=x onerror="{EVIL}"><script>{EVIL}</script>'
    page.evaluate(
        """evil => { const s = structuredClone(S.detach);
        Object.assign(s, {sentence: evil, error: evil, printed: evil, alt: evil});
        for (const c of Object.values(s.cards))
            Object.assign(c, {key: evil + c.key, facts: [[evil, evil]]});
        for (const r of s.table) r.cells.fill(evil);
        P.setCode({text: evil, first: 1}); P.show(s); P.select("n0"); }""",
        evil,
    )
    page.locator("#one .gv-node").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".gv-facts dd").text_content() == evil
    assert page.locator("#one img, #one script").count() == 0
    page.wait_for_timeout(50)


def test_two_pictures_share_no_id(page: Page) -> None:
    show(page, "detach")
    page.evaluate("gv.mountPanel(document.getElementById('two')).show(S.detach)")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) > 30


# --- selection, keyboard, facts -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clone", "detach", "tall"])
def test_selecting_lights_what_the_state_says(
    page: Page, states: dict[str, Any], name: str
) -> None:
    show(page, name)
    everything = {g["name"] for g in page.evaluate("probes.groups()")}
    for key, one in states[name]["cards"].items():
        page.evaluate("key => P.select(key)", key)
        lit = {key, *one["lit"], *one["memory"]}
        expected = {g for g in everything if g in lit or g.removesuffix("f") in lit}
        groups = page.evaluate("probes.groups()")
        assert {g["name"] for g in groups if g["lit"]} == expected
        assert {g["name"] for g in groups if g["dim"]} == everything - expected
        assert page.locator(".gv-mark-memory").count() == len(one["memory"])
        assert page.locator('#one [aria-pressed="true"]').get_attribute("data-gv") == key
    page.evaluate("P.select('n999')")
    assert page.locator(".gv-dim, .gv-mark-selected").count() == 0


def test_mouse_selects_and_the_background_deselects(page: Page) -> None:
    page.evaluate("P.setCode({text: 'x\\n'.repeat(200), first: 1})")
    show(page, "detach")
    page.locator(card(page, "c")).click()
    line = page.evaluate("now.cards[picked.at(-1)].line")
    assert page.locator(".gv-here .gv-number").text_content() == str(line)
    assert page.evaluate(
        "document.querySelector('.gv-here').getBoundingClientRect().bottom <= "
        "document.querySelector('.gv-code').getBoundingClientRect().bottom + 1"
    )
    page.locator("summary").click()
    assert page.locator("tr.gv-selected .gv-name").text_content() == "c"
    page.locator(".gv-view").click(position={"x": 5, "y": 200})
    assert page.evaluate("[picked.length, picked.at(-1), P.selected]") == [2, "", ""]
    assert page.locator("tr.gv-selected").count() == 0
    page.get_by_role("button", name="loss", exact=True).click()
    assert page.evaluate("now.cards[picked.at(-1)].key") == "loss"


def test_keyboard_alone_is_enough(page: Page) -> None:
    show(page, "detach")
    page.locator(".gv-view").focus()
    page.keyboard.press("Tab")
    seen = [page.evaluate("document.activeElement.dataset.gv")]
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        seen.append(page.evaluate("document.activeElement.dataset.gv"))
    assert sorted(seen) == [f"n{i}" for i in range(6)]
    assert page.locator('#one .gv-node[tabindex="0"]').count() == 1
    page.keyboard.press("Home")
    assert page.evaluate("now.cards[document.activeElement.dataset.gv].key") == "a"
    for key, where in zip(
        ["ArrowDown", "ArrowDown", "ArrowUp", "End", "ArrowUp"],
        ["c", "c + d", "c", "loss", "c + d"],
        strict=True,
    ):
        page.keyboard.press(key)
        assert page.evaluate("now.cards[document.activeElement.dataset.gv].key") == where
    facts = page.locator(".gv-facts")
    assert facts.is_visible()
    assert facts.locator("dt").all_text_contents() == page.evaluate(
        "now.cards[document.activeElement.dataset.gv].facts.map(f => f[0])"
    )
    page.keyboard.press("Enter")
    assert page.evaluate("now.cards[picked.at(-1)].key") == "c + d"
    page.keyboard.press("Escape")
    assert facts.is_visible()  # of what is selected
    assert page.evaluate("P.selected") != ""
    page.keyboard.press("Escape")
    assert page.evaluate("[P.selected, picked.at(-1)]") == ["", ""]
    assert not facts.is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "gv-tool gv-tool-fit"


def test_keys_that_are_used_do_not_reach_the_notebook(page: Page) -> None:
    show(page, "detach")
    page.evaluate("window.heard = []; addEventListener('keydown', e => heard.push(e.key))")
    page.locator(card(page, "a")).focus()
    for key in [
        "ArrowDown",
        "Enter",
        "Escape",
        "0",
        "f",
        "+",
        "-",
        "Shift+ArrowLeft",
        "x",
        "Control+f",
    ]:
        page.keyboard.press(key)
    assert page.evaluate("heard.filter(k => !['Shift', 'Control'].includes(k))") == ["x", "f"]
    assert page.locator("[data-lm-suppress-shortcuts]").count() == 1


IN_SIGHT = """card => {
    const box = selector => document.querySelector(`#one ${selector}`).getBoundingClientRect();
    const [frame, own] = [box(".gv-view"), box(`[data-gv="${card}"]`)];
    return own.left >= frame.left && own.right <= frame.right && own.top >= frame.top && own.bottom <= frame.bottom;
}"""
PLACES = """() => [...document.querySelectorAll(
    "#one > *, .gv-view, .gv-strip, .gv-toolbar, .gv-tool, #one summary, #two")].map(e => {
        const {x, y, width, height} = e.getBoundingClientRect();
        return [e.className, x, y, width, height];
    })"""


@pytest.mark.parametrize("width", [360, 880])
def test_pointing_at_a_card_moves_nothing_and_what_is_left_out_of_its_facts_is_said(
    page: Page, width: int
) -> None:
    page.evaluate("width => { document.getElementById('one').style.width = `${width}px`; }", width)
    show(page, "detach")
    places = page.evaluate(PLACES)
    hidden = []
    cards = page.locator("#one .gv-node").evaluate_all("all => all.map(e => e.dataset.gv)")
    in_sight = [one for one in cards if page.evaluate(IN_SIGHT, one)]
    assert len(in_sight) > 1
    for one in in_sight:
        page.locator(f'#one [data-gv="{one}"]').hover()
        page.locator(".gv-facts").wait_for()
        assert page.evaluate(PLACES) == places
        facts, view = page.locator(".gv-facts").bounding_box(), page.locator(".gv-view")
        around = view.first.bounding_box()
        assert facts is not None
        assert around is not None
        assert facts["y"] >= around["y"] + around["height"]
        hidden.append(
            page.locator(".gv-facts").evaluate("e => e.scrollHeight > e.clientHeight + 1")
        )
        assert page.locator(".gv-facts-more").is_visible() == hidden[-1]
        page.mouse.move(2, 2)
        page.locator(".gv-facts").wait_for(state="hidden")
        assert page.evaluate(PLACES) == places
    assert any(hidden)


def test_only_the_card_that_is_told_of_is_described_by_its_facts(page: Page) -> None:
    show(page, "detach")
    page.locator(".gv-view").focus()
    page.keyboard.press("Tab")
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
        told = page.locator("[aria-describedby]")
        assert told.get_attribute("data-gv") == page.evaluate("document.activeElement.dataset.gv")
        facts = page.locator(f"#{told.get_attribute('aria-describedby')}")
        title = page.evaluate("now.cards[document.activeElement.dataset.gv].key")
        assert facts.locator(".gv-facts-title").text_content() == title
    page.keyboard.press("Tab")
    assert page.locator("[aria-describedby]").count() == 0


# --- pan and zoom ---------------------------------------------------------------------------------

PLACE, TEXT_SIZE, INSIDE = "probes.place()", "probes.textSize()", "probes.inside()"


def test_a_picture_starts_readable_and_fit_shows_the_whole(page: Page) -> None:
    page.evaluate("document.getElementById('one').style.setProperty('--gv-height', '700px')")
    show(page, "detach")
    assert page.evaluate(INSIDE)
    assert page.evaluate(TEXT_SIZE) >= 12
    assert not page.locator(".gv-hint").is_visible()
    page.evaluate("P.select('n0')")
    show(page, "tall")
    assert page.evaluate(TEXT_SIZE) >= 11.99
    assert not page.evaluate(INSIDE)
    assert page.locator(".gv-hint").is_visible()
    assert page.evaluate("document.querySelector('.gv-view').dataset.more") == "bottom"
    page.get_by_role("button", name="Fit").click()
    assert page.evaluate(INSIDE)
    page.get_by_role("button", name="Reset").click()
    assert page.evaluate(TEXT_SIZE) >= 11.99


def test_a_large_picture_starts_with_its_first_card_and_shows_a_lit_one(
    page: Page, states: dict[str, Any]
) -> None:
    show(page, "many")
    assert not page.evaluate(INSIDE)
    cards = list(states["many"]["cards"])
    first, last = cards[0], cards[-1]
    assert page.evaluate(IN_SIGHT, first)
    page.screenshot(path=ARTEFACTS / "front-many.png")
    assert not page.evaluate(IN_SIGHT, last)
    page.evaluate("card => P.select(card)", last)
    assert page.evaluate(IN_SIGHT, last)
    page.get_by_role("button", name="Reset").click()
    assert page.evaluate(IN_SIGHT, first)


def test_drag_wheel_and_keys_move_the_picture_and_a_plain_wheel_does_not(page: Page) -> None:
    show(page, "tall")
    at = [page.evaluate(PLACE)]
    page.mouse.move(100, 300)
    page.mouse.wheel(0, 100)
    assert page.evaluate(PLACE) == at[0]
    page.mouse.down()
    page.mouse.move(100, 200, steps=4)
    page.mouse.up()
    assert page.evaluate("picked") == []
    at.append(page.evaluate(PLACE))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_timeout(50)
    at.append(page.evaluate(PLACE))
    page.locator(".gv-view").focus()
    for key in ["ArrowDown", "+"]:
        page.keyboard.press(key)
        at.append(page.evaluate(PLACE))
    assert len(set(at)) == len(at)
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    assert page.locator("#one .gv-node").last.is_visible()
    boxes = [b for n in page.locator("#one .gv-node").all() if (b := n.bounding_box())]
    assert any(b["y"] + b["height"] > 60 for b in boxes)  # it cannot be lost out of sight


def test_the_readers_place_is_kept_and_the_page_does_not_jump(page: Page) -> None:
    show(page, "clone")
    height = page.locator(".gv-view").bounding_box()
    show(page, "detach")
    assert page.locator(".gv-view").bounding_box()["height"] >= height["height"]  # type: ignore[index]
    tallest = page.locator(".gv-view").bounding_box()["height"]  # type: ignore[index]
    show(page, "clone")
    assert page.locator(".gv-view").bounding_box()["height"] == tallest  # type: ignore[index]
    page.get_by_role("button", name="Zoom in").click()
    scale = page.evaluate(PLACE).split("scale")[1]
    show(page, "detach")
    assert page.evaluate(PLACE).split("scale")[1] == scale


# --- what changed ---------------------------------------------------------------------------------


def test_what_changed_is_marked_on_cards_arrows_and_cells(
    page: Page, states: dict[str, Any]
) -> None:
    show(page, "clone")
    assert page.locator("#one .gv-changed, #one .gv-mark-changed").count() == 0
    show(page, "detach")
    before, after = states["clone"], states["detach"]
    expected = set()
    for kind in ("cards", "arrows"):
        looks = {x["key"]: x["look"] for x in before[kind].values()}
        expected |= {i for i, x in after[kind].items() if looks.get(x["key"]) != x["look"]}
    marked = page.evaluate("probes.changed()")
    assert set(marked) == expected != set()
    page.locator("summary").click()
    page.locator("td").first.wait_for()
    old = {row["key"]: row["cells"] for row in before["table"]}
    cells = {
        (r["key"], i)
        for r in after["table"]
        for i, c in enumerate(r["cells"])
        if old[r["key"]][i] != c
    }
    found = page.evaluate("probes.cells()")
    assert {tuple(x) for x in found} == cells
    assert page.locator("td.gv-changed .gv-sign").count() == len(cells)
    assert (
        page.locator(".gv-changes")
        .text_content()
        .startswith("Changed: a.grad: [5, 5, 5] → [2, 2, 2]")
    )  # type: ignore[union-attr]
    assert "changed" in (page.locator(card(page, "a")).get_attribute("aria-label") or "")
    page.evaluate("P.show(structuredClone(now))")  # the same state again: its marks stay
    assert page.locator("#one g.gv-changed").count() == len(marked)
    page.evaluate("P.show(now, null)")
    assert page.locator("#one .gv-changed").count() == 0


def test_a_beginning_has_no_marks(page: Page) -> None:
    show(page, "clone")
    show(page, "detach")
    assert page.locator("#one g.gv-changed").count()
    page.evaluate("P.show({...S.clone, afresh: true})")
    assert page.locator("#one .gv-changed, #one .gv-mark-changed").count() == 0


def test_areas_that_stay_the_same_are_not_touched(page: Page) -> None:
    show(page, "clone")
    page.evaluate("() => { probes.watch(); P.setCode({}); P.show(structuredClone(S.clone)); }")
    page.evaluate("P.show({...structuredClone(S.clone), printed: 'hello'})")
    page.wait_for_timeout(20)
    assert set(page.evaluate("writes")) <= {"gv-area gv-printed", "gv-marks", "gv-changes"}
    assert page.locator(".gv-printed").text_content() == "hello"


def test_the_same_card_stays_selected_and_focused_under_another_id(page: Page) -> None:
    show(page, "clone")
    page.locator(card(page, "loss")).focus()
    page.keyboard.press("Enter")
    page.evaluate("() => { window.now = probes.renumbered(S.detach); P.show(now); }")
    assert page.evaluate("[P.selected, picked.at(-1), document.activeElement.dataset.gv]") == [
        "n0",
        "n0",
        "n0",
    ]
    page.evaluate("P.show({...S.detach, cards: {}, table: []})")
    assert page.evaluate("[P.selected, picked.at(-1)]") == ["", ""]


def test_the_last_of_many_wins(page: Page) -> None:
    page.evaluate(
        "for (let i = 0; i < 100; i++) P.show(i % 3 ? S.clone : S.tall); P.show(S.detach)"
    )
    assert page.locator("#one .gv-node").count() == 6
    assert page.locator(".gv-said").text_content() == page.evaluate("S.detach.sentence")
    page.locator("summary").click()
    expect(page.locator("tbody tr")).to_have_count(page.evaluate("S.detach.table.length"))


# --- looks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark", "page-dark"])
def test_text_is_readable_in_light_and_dark(page: Page, theme: str) -> None:
    if theme == "page-dark":
        page.evaluate("document.documentElement.style.colorScheme = 'dark'")
    else:  # as JupyterLab says it
        page.evaluate(
            "theme => { document.body.dataset.jpThemeLight = String(theme === 'light'); }", theme
        )
        page.evaluate(
            "dark => { document.body.style.cssText += dark; }",
            f"background:#111;{DARK}" if theme == "dark" else "",
        )
    page.evaluate(
        "P.setCode({text: 'def f():\\n    pass', first: 3}); document.querySelector('details').open"
        " = true"
    )
    show(page, "clone")
    show(page, "detach")
    page.evaluate(
        "window.now = {...now, error: 'RuntimeError: no', printed: 'said', lines: [4]}; P.show(now,"
        " S.clone)"
    )
    page.locator(card(page, "a")).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("probes.lowContrast()") == []
    shoot(page, theme)


@pytest.mark.parametrize("width", [400, 880, 1200])
def test_nothing_sticks_out_sideways(page: Page, width: int) -> None:
    page.evaluate("width => { document.getElementById('one').style.width = width + 'px'; }", width)
    page.evaluate("P.setCode({text: 'x = ' + 'y'.repeat(400), first: 1})")
    page.evaluate("document.querySelector('details').open = true")
    show(page, "clone")
    show(page, "detach")
    page.evaluate(
        "P.show({...now, error: 'E'.repeat(400), printed: 'p'.repeat(400), sentence:"
        " 's'.repeat(400)})"
    )
    page.wait_for_timeout(60)
    assert page.evaluate("probes.outside()") == []
    assert page.evaluate("document.getElementById('one').scrollWidth") <= width


def test_screen_readers_get_the_areas_in_order(page: Page) -> None:
    page.evaluate("P.setCode({text: 'a = 1', first: 1})")
    show(page, "detach")
    order = page.evaluate(
        "[...document.getElementById('one').children].map(e => e.className.split('gv-').at(-1))"
    )
    assert order == ["code", "sentence", "picture", "printed", "table"]
    tree = page.locator("#one").aria_snapshot()
    assert "a, [1, 2, 3], leaf" in tree
    assert page.locator(".gv-view").get_attribute("aria-label") == page.evaluate("now.alt")
    assert page.locator(".gv-sentence").get_attribute("aria-live") == "polite"
