"""``gv.explore``: what is shown is what PyTorch does alone, and nothing of the reader's session
changes."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import random
import signal
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from svg import cards_of

from gradviz import controls
from gradviz.graph.facts import Facts
from gradviz.graph.records import GradvizError
from gradviz.live import explore as exploring
from gradviz.live import turns
from gradviz.live.ambient import ambient
from gradviz.live.explore import Exploration, explore


def scenario(copy: Any, mode: Any, requires_grad: bool, k: int) -> Any:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    with mode():
        b = copy(a)
    loss = (a * 2 + b * k).sum()
    loss.backward()
    return a


def made() -> Exploration:
    return explore(
        scenario,
        copy=[torch.Tensor.clone, torch.Tensor.detach],
        mode=controls.grad_mode,
        requires_grad=True,
        k=(1, 5),
    )


def grad_of(exploration: Exploration, name: str) -> str | None:
    found: list[str | None] = [
        t.grad for t in Facts.of(exploration.graph).latest_state.values() if t.name == name
    ]
    return found[0]


def alone(labels: dict[str, str]) -> tuple[str | None, str]:
    """``a.grad`` and the error when the function runs without us."""
    copy = {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach}[labels["copy"]]
    values = {
        "mode": controls.grad_mode[labels["mode"]],
        "requires_grad": labels["requires_grad"] == "True",
    }
    try:
        a = scenario(copy=copy, k=int(labels["k"]), **values)
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return str([int(g) for g in a.grad.tolist()]), ""


def test_every_state_is_what_pytorch_does_alone() -> None:
    exploration = made()
    seen = 0
    for labels, state in exploration.states():
        grad, error = alone(labels)
        assert state["error"] == error
        cells = next(row["cells"] for row in state["table"] if row["cells"][0] == "a")
        if not error:
            assert cells[2] == grad
        seen += 1
    assert seen == 2 * 4 * 2 * 5
    assert exploration._run is None  # that changed neither the controls nor the last run


@pytest.mark.parametrize(
    "chosen", [{"copy": "detach"}, {"mode": "inference_mode", "k": 1}, {"requires_grad": False}]
)
def test_set_runs_the_scenario_with_the_new_states(chosen: dict[str, Any]) -> None:
    exploration = made()
    assert exploration.set(**chosen) is exploration
    assert exploration.values == {
        **made().values,
        **{name: str(value) for name, value in chosen.items()},
    }
    grad, error = alone(exploration.values)
    assert exploration.error == error
    assert grad_of(exploration, "a") == grad
    first = " ".join(f"{name}={label}" for name, label in exploration.values.items())
    assert exploration.text.startswith(first + "\n\n")
    assert exploration.figure.text in exploration.text
    assert exploration.state["sentence"] in exploration.text


def test_set_takes_labels_and_values_and_reset_goes_back() -> None:
    exploration = made()
    start = exploration.values
    assert start == {"copy": "clone", "mode": "none", "requires_grad": "True", "k": "3"}
    exploration.set(copy=torch.Tensor.detach, mode="no_grad", requires_grad="False", k=5)
    assert exploration.values == {
        "copy": "detach",
        "mode": "no_grad",
        "requires_grad": "False",
        "k": "5",
    }
    assert exploration.reset().values == start
    assert exploration._last.labels == start


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"copies": "clone"},
            "scenario has no control 'copies'; its controls are: copy, mode, requires_grad, k",
        ),
        (
            {"k": 1, "copy": "deepcopy"},
            "copy=deepcopy is not one of the control's states: clone, detach",
        ),
        ({"k": 9}, "k=9 is not one of the control's states: 1, 2, 3, 4, 5"),
    ],
)
def test_set_says_what_there_is_and_changes_nothing(chosen: dict[str, Any], message: str) -> None:
    exploration = made()
    with pytest.raises(GradvizError) as raised:
        exploration.set(**chosen)
    assert str(raised.value) == message
    assert exploration.values == made().values


def test_one_change_is_one_run() -> None:
    runs: list[Any] = []

    @explore(a=[1, 2, 3], b=True)
    def counted(a: int, b: bool) -> None:
        runs.append((a, b))

    assert runs == []  # nothing looks at it yet
    assert counted.error == ""
    counted.set(a=2, b=False).set(a=3)
    counted._controls["a"].widget.label = "1"  # as a click does
    counted.reset()
    assert runs == [(1, True), (2, False), (3, False), (1, False), (1, True)]


def test_the_decorated_function_is_the_plain_function() -> None:
    exploration = made()
    assert exploration.__name__ == "scenario"  # type: ignore[attr-defined]
    a = exploration(torch.clone, contextlib.nullcontext, True, k=3)
    assert a.grad.tolist() == [5.0, 5.0, 5.0]
    assert exploration._run is None


AGAIN = controls.button("again")


def test_a_bare_decorator_takes_the_defaults() -> None:
    @explore
    def bare(k: int = 4, *, copy: Any = controls.copies, again: Any = AGAIN) -> None:
        a = torch.ones(2, requires_grad=True)
        (copy(a) * k).sum().backward()

    assert bare.values == {"k": "4", "copy": "clone", "again": "0"}
    assert grad_of(bare, "a") == "[4, 4]"
    assert bare.set(copy=".data").error.startswith(
        "RuntimeError: element 0 of tensors does not require grad"
    )


def no_parameter_called_k(copy: Any) -> None: ...
def one_left_out(copy: Any, k: int) -> None: ...
def starred(*copy: Any) -> None: ...
async def later(copy: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "abbreviations", "message"),
    [
        (
            no_parameter_called_k,
            {"copy": [1], "k": 2},
            "no parameter for k=; the function's parameters are: copy",
        ),
        (
            one_left_out,
            {"copy": [1]},
            "parameter k has no control; give one, e.g. gv.explore(k=[1, 2]), or a default",
        ),
        (starred, {"copy": [1]}, "cannot have a control; expected one that is called copy=…"),
        (later, {"copy": [1]}, "; expected an ordinary function (def scenario(…): …)"),
        (5, {}, "gv.explore got 5; expected an ordinary function"),
    ],
)
def test_what_cannot_be_explored_is_refused(
    function: Any, abbreviations: Any, message: str
) -> None:
    with pytest.raises(GradvizError) as raised:
        explore(function, **abbreviations)
    assert message in str(raised.value)


@pytest.mark.parametrize("missing", ["ipywidgets", "anywidget"])
def test_without_widgets_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else find(name)
    )
    with pytest.raises(
        GradvizError, match=f"needs {missing}, not installed here: pip install ipywidgets anywidget"
    ):
        made()


# --- what a scenario does to the world ------------------------------------------------------------


def test_runs_start_from_the_same_randomness_and_leave_the_readers_alone() -> None:
    seen: list[tuple[float, float, float]] = []

    @explore(k=[1, 2, 3])
    def drawing(k: int) -> None:
        seen.append((torch.rand(()).item(), random.random(), float(np.random.rand())))
        torch.manual_seed(k)
        random.seed(k)
        np.random.seed(k)

    def state() -> tuple[bytes, Any, str]:
        return (
            torch.get_rng_state().numpy().tobytes(),
            random.getstate(),
            str(np.random.get_state()),
        )

    before = state()
    drawing.set(k=2).set(k=3)
    assert state() == before
    first = torch.rand(()).item(), random.random(), float(np.random.rand())
    assert seen == [first, first]  # the draws that the reader would have got at the decoration
    drawing.set(k=1)
    assert seen[2] == first


def test_a_gpu_that_a_scenario_is_first_to_use_starts_each_run_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No GPU is needed: torch is told what it would say with one."""
    state, begun = [torch.arange(3)], [False]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: begun[0])
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: list(state))
    monkeypatch.setattr(
        torch.cuda, "set_rng_state_all", lambda value: state.__setitem__(slice(None), value)
    )
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: state.__setitem__(0, seed))
    restore = ambient()
    restore()
    assert state[0].tolist() == [0, 1, 2]  # not begun: not touched
    begun[0] = True
    restore()
    assert state == [torch.initial_seed()]
    later = ambient()
    state[0] = 5
    later()
    assert state == [torch.initial_seed()]


def test_modes_and_defaults_that_a_scenario_leaves_changed_do_not_leak() -> None:
    @explore(k=[1, 2])
    def leaking(k: int) -> None:
        seen.append(
            (torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled())
        )
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.autograd.set_detect_anomaly(True)
        if k == 2:
            raise ValueError("half way")

    seen: list[Any] = []
    always = torch.is_warn_always_enabled()
    leaking.set(k=2).set(k=1)
    now = torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled()
    assert now == (True, torch.float32, False)
    assert seen == [now, now]
    assert torch.is_warn_always_enabled() is always


def test_output_and_warnings_are_shown_in_order_and_swallowed_nowhere_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @explore(k=[1, 2])
    def talking(k: int) -> None:
        a = torch.ones(2, requires_grad=True)
        print("before")
        _ = (a * 2).grad
        # a warning that torch gives once a process
        a.detach().to(torch.complex64).to(torch.float32)
        print("after", "x" * 5000 if k == 2 else "")

    for _ in range(2):
        printed = talking.set(k=1).state["printed"]
        assert printed.startswith(
            "before\nUserWarning: The .grad attribute of a Tensor that is not a leaf"
        )
        assert (
            "\nUserWarning: Casting complex values to real discards the imaginary part" in printed
        )
        assert printed.endswith("\nafter")
    assert talking.set(k=2).state["printed"].endswith(" more characters")
    assert len(talking.state["printed"]) < 4100
    assert capsys.readouterr() == ("", "")
    print("heard")
    with pytest.warns(UserWarning, match="heard too"):
        warnings.warn("heard too", stacklevel=1)
    assert capsys.readouterr().out == "heard\n"


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_is_shown_with_the_picture_up_to_it() -> None:
    @explore(kind=["value", "unreadable", "none"])
    def failing(kind: str) -> None:
        a = torch.ones(2, requires_grad=True)
        b = a * 2
        if kind == "value":
            raise ValueError(f"no\x00t {b.tolist()}")
        if kind == "unreadable":
            raise Unreadable

    line = scenario_line(failing, "raise ValueError")
    assert failing.error == "ValueError: no\\x00t [2.0, 2.0]"
    assert failing.state["lines"] == [line]
    assert {"a", "b"} <= {row["cells"][0] for row in failing.state["table"]}
    assert failing.error in failing.text
    assert failing.set(kind="unreadable").error == "Unreadable: its text cannot be read"
    assert failing.set(kind="none").error == ""
    assert failing.state["lines"] == []


def scenario_line(exploration: Exploration, code: str) -> int:
    """The number that the listing gives to the line with this code."""
    lines = exploration.code["text"].splitlines()
    return int(exploration.code["first"]) + next(i for i, line in enumerate(lines) if code in line)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass_through_and_the_next_run_is_as_ever(stop: type[BaseException]) -> None:
    @explore(k=[1, 2])
    def stopping(k: int) -> None:
        torch.ones(k, requires_grad=True)
        if k == 2:
            raise stop

    with pytest.raises(stop):
        stopping.set(k=2)
    assert stopping.error == stop.__name__
    with pytest.raises(stop):
        list(stopping.states())
    assert stopping.set(k=1).error == ""


def test_no_tensor_of_a_run_stays_alive() -> None:
    alive: weakref.WeakSet[torch.Tensor] = weakref.WeakSet()

    @explore(k=[1, 2])
    def holding(k: int) -> torch.Tensor:
        a = torch.ones(2, requires_grad=True)
        b = a * k
        alive.update((a, b))
        if k == 2:
            raise ValueError(b)
        return b

    gc.disable()  # nothing is left for it to find
    try:
        holding.set(k=2)
        _ = holding.widget
        assert holding.set(k=1).text
        assert holding.set(k=2).error.startswith("ValueError: tensor")
        assert not list(alive)
    finally:
        gc.enable()


def test_the_names_of_the_readers_globals_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "weight", torch.ones(2, requires_grad=True))

    @explore(k=[1, 2])
    def outside(k: int) -> None:
        (weight * k).sum()  # type: ignore[name-defined]  # noqa: F821

    assert "weight" in {t.name for t in outside.graph.tensors}


# --- the listing ----------------------------------------------------------------------------------


def test_the_listing_has_no_decorators_and_the_numbers_of_the_calls() -> None:
    @explore(
        k=[1, 2],
    )
    @contextlib.contextmanager  # has a __wrapped__
    def listed(k: int) -> Iterator[None]:
        yield

    @explore(k=[1, 2])
    def numbered(k: int) -> None:
        a = torch.ones(k)
        b = a * 2  # noqa: F841

    assert listed.code["text"] == "def listed(k: int) -> Iterator[None]:\n    yield"
    assert numbered.code["text"].startswith(
        "def numbered(k: int) -> None:\n    a = torch.ones(k)\n"
    )
    source = next(call.source for call in numbered.graph.calls if call.function == "mul")
    assert source is not None
    assert source.line == scenario_line(numbered, "b = a * 2")


def test_a_function_without_source_has_no_listing() -> None:
    space: dict[str, Any] = {"torch": torch}
    exec("def written(k=2):\n    b = torch.ones(k)", space)
    assert explore(space["written"]).code == {}
    assert explore(lambda k=2: None).code == {}


# --- threads --------------------------------------------------------------------------------------


class Loop:
    """An event loop that takes its turns when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[..., None], *given: Any) -> None:
        self.waiting.append(functools.partial(callback, *given))

    def turn(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    found = Loop()
    monkeypatch.setattr(turns, "HAND_OVER", 0.001)  # nobody turns the loop while a test clicks
    monkeypatch.setattr(turns, "kernel", lambda: types.SimpleNamespace(io_loop=found))
    monkeypatch.setattr(Exploration, "_ipython_display_", lambda self: None)
    return found


def on_another_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture
def counted(loop: Loop) -> tuple[Exploration, list[Any]]:
    runs: list[Any] = []

    @explore(k=list(range(100)))
    def counted(k: int) -> None:
        runs.append((k, threading.current_thread()))

    return counted, runs


def test_a_change_on_another_thread_waits_for_the_main_one(
    loop: Loop, counted: tuple[Exploration, list[Any]]
) -> None:
    exploration, runs = counted
    widget = exploration._controls["k"].widget

    def clicks() -> None:
        for place in range(1, 100):
            widget.index = place

    on_another_thread(clicks)
    assert runs == []
    loop.turn()
    assert runs == [(99, threading.main_thread())]  # only the newest state, once
    assert exploration._last.labels == {"k": "99"}


def test_changes_during_a_run_are_one_more_run_with_the_last_state(loop: Loop) -> None:
    runs: list[int] = []

    @explore(k=list(range(9)))
    def busy(k: int) -> None:
        runs.append(k)
        if k == 0:  # clicks while it runs, and a set() by the scenario itself
            on_another_thread(
                lambda: [setattr(busy._controls["k"].widget, "index", i) for i in range(1, 7)]
            )
            busy.set(k=7)
            on_another_thread(lambda: setattr(busy._controls["k"].widget, "index", 8))
            loop.turn()  # a scenario may run an event loop of its own
            assert runs == [0]

    on_another_thread(lambda: setattr(busy._controls["k"].widget, "index", 1))
    busy.set(k=0)  # before the loop has its turn
    loop.turn()
    assert (busy.error, runs) == ("", [0, 8])
    assert busy._last.labels == busy.values == {"k": "8"}


def test_an_interrupted_run_does_not_lose_the_newer_state(loop: Loop) -> None:
    runs: list[int] = []

    @explore(k=[0, 1, 2])
    def stopped(k: int) -> None:
        runs.append(k)
        if k == 1:
            on_another_thread(lambda: setattr(stopped._controls["k"].widget, "index", 2))
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    on_another_thread(lambda: setattr(stopped._controls["k"].widget, "index", 1))
    loop.turn()  # an interrupt in a queued turn does not end the kernel
    assert runs == [1, 2]
    assert (stopped.error, stopped._last.labels) == ("", {"k": "2"})
    assert signal.getsignal(signal.SIGINT) is before
    on_another_thread(lambda: stopped.set(k=1))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a kernel does between cells
    try:
        loop.turn()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert runs == [1, 2, 1, 2]


def test_threads_without_an_event_loop_never_run_at_once() -> None:
    inside, most, seen = 0, 0, []

    def run() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        seen.append(wanted[-1])
        threading.Event().wait(0.001)
        inside -= 1

    taking, wanted = turns.Turns(run), [0]

    def clicks() -> None:
        for _ in range(50):
            wanted.append(len(wanted))
            taking.want()

    threads = [threading.Thread(target=clicks) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert seen[-1] == wanted[-1]
    assert len(seen) <= 200


def test_a_control_that_refuses_leaves_the_others_as_they_were() -> None:
    @explore(n=controls.button("again"), k=[1, 2])
    def scenario(n: int, k: int) -> None:
        torch.ones(k)

    with pytest.raises(GradvizError, match="n=-1 is not one of the control's states"):
        scenario.set(k=2, n=-1)
    assert scenario.values == {"n": "0", "k": "1"}


def counted_scenario(counts: bool) -> Exploration:
    """One that gives ``b`` other values at every run, or the same ones."""
    runs = iter(range(100))

    @explore(copy=[torch.Tensor.clone, torch.Tensor.detach])
    def scenario(copy: Any) -> None:
        a = torch.full((2,), float(next(runs) if counts else 7), requires_grad=True)
        b = copy(a)
        (a * 2 + b * 3).sum().backward()

    return scenario


def test_a_state_that_comes_back_is_not_drawn_again_and_is_that_of_the_new_run() -> None:
    exploration = counted_scenario(counts=False)
    assert exploration.widget
    first = exploration.set(copy="detach").set(copy="clone").set(copy="detach")
    drawn, numbers = first.state["svg"], [node.sequence_nr for node in first.graph.nodes]
    again = exploration.set(copy="clone").set(copy="detach")
    assert again.state["svg"] is drawn
    assert again.figure.graph is again.graph
    assert [node.sequence_nr for node in again.graph.nodes] != numbers  # torch goes on counting
    # as when it is made anew, but for the places of the cards
    placed = {part: again.state[part] for part in ("svg", "legend", "notes")}
    anew = again.run(copy="detach").whole
    assert {**anew, **placed} == again.state
    assert cards_of(placed["svg"]) == cards_of(anew["svg"]) != []


def test_a_scenario_that_does_something_else_in_the_same_state_is_drawn_anew() -> None:
    exploration = counted_scenario(counts=True)
    assert exploration.widget
    seen = [
        exploration.set(copy=copy).state["table"][1]["cells"][1]
        for copy in ("detach", "clone", "detach", "clone")
    ]
    assert seen == ["[1, 1]", "[2, 2]", "[3, 3]", "[4, 4]"]
    assert "b = a.detach()\n    [5, 5]" in exploration.set(copy="detach").text


def test_only_the_pictures_of_the_newest_settings_are_kept() -> None:
    exploration = explore(lambda k: torch.ones(k), k=range(2, 40))
    assert exploration.widget
    for k in range(3, 39):
        exploration.set(k=k)
    assert len(exploration._runs) <= exploring.REMEMBERED


def test_a_reset_is_a_beginning_and_no_change() -> None:
    exploration = counted_scenario(counts=False)
    assert exploration.widget
    shown = exploration._graph_widget
    assert shown is not None
    for _ in range(2):
        assert exploration.set(copy="detach")
        assert "afresh" not in shown.state
        assert exploration.reset()
        assert shown.state["afresh"]


def test_the_first_paragraph_of_a_docstring_is_what_the_panel_asks() -> None:
    @explore(k=[1, 2])
    def scenario(k: int) -> torch.Tensor:
        """Guess first:
        what is `a.grad`?

        This is not shown.
        """
        a = torch.ones(1, requires_grad=True)
        (a * k).backward()
        return a

    assert scenario._listed["task"] == {
        "text": "Guess first: what is a.grad?",
        "code": [(21, 27)],
    }
    assert "Guess" not in scenario.filled.text
    assert "task" not in explore(lambda k: torch.ones(k), k=[1])._listed
    assert "task" in scenario.book()["code"]
    assert "task" not in scenario.code
