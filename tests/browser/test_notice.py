"""When the notice "Waiting for the kernel" comes and goes, by a clock that the test turns: no
machine is too slow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from live import FAKE, module_of
from playwright.sync_api import Browser, Page
from recordings import course

from gradviz.live.widget import SCRIPT
from gradviz.picture.page import static
from gradviz.picture.state import state

pytestmark = pytest.mark.dear(8)
PATIENCE = 300  # ms
Log = list[tuple[str, float]]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A widget on a bare page whose clock stands still: ``F`` is the kernel behind it, ``L`` what
    was seen."""
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.clock.install(time=0)
    page.goto("about:blank")
    page.set_content('<!doctype html><body><div id="one" style="width:880px"></div>')
    page.clock.pause_at(1000)
    page.add_style_tag(content=static("live.css", "panel.css"))
    page.add_script_tag(content=f"{{ {FAKE} }}")
    page.evaluate(
        "async script => { window.widget = (await import(script)).default; }",
        module_of(static(SCRIPT)),
    )
    states = {"clone": state(course().figure()), "detach": state(course(torch.detach).figure())}
    page.evaluate(
        """states => {
        const el = document.getElementById("one");
        window.F = fake.make(states);
        window.end = widget.render({model: F.picture, el});
        window.L = fake.watch(el);
        window.start = performance.now();
    }""",
        states,
    )
    page.clock.run_for(1000)
    assert seen(page) == []
    page.evaluate("() => { start = performance.now(); }")
    yield page
    page.evaluate("end()")
    assert errors == []
    page.close()


def seen(page: Page) -> Log:
    """What was seen, and how many ms after the start."""
    log: list[tuple[str, float]] = page.evaluate(
        "() => L.map(([what, at]) => [what, Math.round(at - start)])"
    )
    return [(what, at) for what, at in log]


def notices(page: Page) -> Log:
    return [(what, at) for what, at in seen(page) if what != "drawn"]


def choose(page: Page, value: str) -> None:
    page.evaluate("value => F.choose(value)", value)


def answer(page: Page, value: str) -> None:
    page.evaluate("value => F.answer(value)", value)


@pytest.mark.parametrize("delay", [0, 20, 150, PATIENCE - 1])
def test_a_click_that_is_answered_in_time_shows_no_notice(page: Page, delay: int) -> None:
    for click in range(20):
        value = ["detach", "clone"][click % 2]
        choose(page, value)
        page.clock.run_for(delay)
        answer(page, value)
        page.clock.run_for(40)
    assert [what for what, _ in seen(page)] == ["drawn"] * 20
    page.clock.run_for(10 * PATIENCE)
    assert notices(page) == []


def test_a_late_answer_is_waited_for_from_the_limit_to_its_coming(page: Page) -> None:
    expected = []
    for click in range(4):
        value = ["detach", "clone"][click % 2]
        begin = click * 500
        choose(page, value)
        page.clock.run_for(PATIENCE + 100)
        answer(page, value)
        page.clock.run_for(100)
        expected += [("notice", begin + PATIENCE), ("gone", begin + PATIENCE + 100)]
    assert notices(page) == expected


def test_a_slider_that_is_dragged_while_states_come_shows_no_notice(page: Page) -> None:
    """Each state that comes belongs to a place that the slider has left already."""
    for change in range(100):
        choose(page, f"place {change}")
        page.clock.run_for(40)
        if change % 6 == 5:  # every 240 ms
            answer(page, ["detach", "clone"][change % 12 // 6])
    answer(page, "clone")
    choose(page, "clone")
    page.clock.run_for(10 * PATIENCE)
    assert notices(page) == []


@pytest.mark.parametrize("pause", [10, 40, 250])
def test_a_slider_that_is_dragged_while_no_state_comes_shows_it(page: Page, pause: int) -> None:
    """The limit counts from the last state that came, not from the last change: a drag does not
    hide the wait."""
    for change in range(2000 // pause):
        choose(page, f"place {change}")
        page.clock.run_for(pause)
    assert notices(page) == [("notice", PATIENCE)]
    choose(page, "detach")
    answer(page, "detach")
    page.clock.run_for(40)
    assert [what for what, _ in notices(page)] == ["notice", "gone"]


def test_back_to_what_the_picture_shows_is_no_wait(page: Page) -> None:
    choose(page, "detach")
    page.clock.run_for(PATIENCE - 10)
    choose(page, "clone")
    page.clock.run_for(100)
    choose(page, "detach")  # a new wait, with a limit of its own
    page.clock.run_for(PATIENCE - 10)
    assert notices(page) == []
    page.clock.run_for(20)
    assert notices(page) == [("notice", PATIENCE - 10 + 100 + PATIENCE)]


def test_a_state_for_the_same_picture_ends_the_wait(page: Page) -> None:
    """Two choices may draw the same: then only ``drawn_for`` changes."""
    choose(page, "detach")
    page.clock.run_for(PATIENCE + 50)
    page.evaluate("() => F.picture.set('drawn_for', [['control', 'value', 'detach']])")
    page.clock.run_for(40)
    assert [what for what, _ in seen(page)] == ["notice", "gone"]


def test_two_views_of_one_exploration_say_the_same(page: Page) -> None:
    page.evaluate("""() => {
        const el = document.body.appendChild(document.createElement("div"));
        window.endOfTwo = widget.render({model: F.picture, el});
        window.M = fake.watch(el);
    }""")
    page.clock.run_for(40)
    choose(page, "detach")
    page.clock.run_for(PATIENCE)
    page.evaluate("endOfTwo()")  # the other one waits on
    page.clock.run_for(2 * PATIENCE)
    answer(page, "detach")
    page.clock.run_for(40)
    assert notices(page) == [("notice", PATIENCE + 40), ("gone", 3 * PATIENCE + 40)]
    assert page.evaluate("() => M[0][0]") == "notice"


def test_a_kernel_that_never_answers_is_gone_only_after_it_has_done_with_the_question(
    page: Page,
) -> None:
    page.evaluate("() => { F.silent = true; }")
    choose(page, "detach")
    page.clock.run_for(60_000)
    assert page.evaluate("document.querySelector('.gv-notice').textContent").startswith(
        "Waiting for the kernel"
    )
    assert 5 <= page.evaluate("F.asked") <= 8, "it is asked again, and more and more seldom"
