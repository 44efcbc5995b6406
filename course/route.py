"""The route of a class: what is on the screen, in which order, and what is asked and said there.

What comes of a state is not written here: it is computed when the pages are made, from the same
panels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class State(NamedTuple):
    """One state of a panel that a class looks at.

    Attributes:
        settings: control -> label; the other controls are at their start.
        ask: what is asked before the result is shown.
    """

    settings: Mapping[str, str]
    ask: str


class Screen(NamedTuple):
    """A panel of a notebook, and the states of it through which Page Down walks.

    Attributes:
        notebook: its name.
        scenario: the panel's.
        tells: what of each run is an answer to what is asked, as ``lesson.table`` names it.
        states: in their order.
        is_wide: whether its pictures are wide and flat, and stand below the code.
    """

    notebook: str
    scenario: str
    tells: tuple[str, ...]
    states: tuple[State, ...]
    is_wide: bool = False


class Stop(NamedTuple):
    """One part of the route.

    Attributes:
        minutes: it takes.
        short: minutes that it takes in the short route; 0 leaves it out.
        title: of it.
        goal: what everybody can do afterwards.
        steps: what the teacher does.
        errors: what is likely to be said, and what to say to it.
        screens: what is projected.
        part: of the screens that the short route shows, if not all.
    """

    minutes: int
    short: int
    title: str
    goal: str
    steps: tuple[str, ...]
    errors: tuple[tuple[str, str], ...] = ()
    screens: tuple[Screen, ...] = ()
    part: str = ""


COPY = "{}: is a.grad 5 or 2? Does a write into b change a?"
REQUIRES = "Does y require grad? Is it a leaf? Which grad_fn?"
STORED = "What does w.grad hold at the end?"
SICK = "Which line is at fault, and why?"
REMEDY = "A remedy. Does it help?"
FIXED = "And this one?"


def _patient(
    scenario: str, tells: tuple[str, ...], *versions: Mapping[str, str], sick: str = SICK
) -> Screen:
    """Return a patient: as it was, with a remedy that does not help, and fixed."""
    states = zip(versions, (sick, REMEDY, FIXED), strict=True)
    return Screen("11_error_clinic", scenario, tells, tuple(State(*state) for state in states))


PATIENTS = (
    _patient(
        "descend",
        ("error",),
        {"update": "w -= …", "mode": "none"},
        {"update": "w = w - …", "mode": "none"},
        {"update": "w -= …", "mode": "no_grad"},
    ),
    _patient(
        "kept",
        ("best", "moved"),
        {"take": "state_dict()"},
        {"take": "dict(state_dict())"},
        {"take": "deepcopy(state_dict())"},
        sick="best should be [[1, 1]], the weights before the step. " + SICK,
    ),
    _patient(
        "written",
        ("x.grad", "error"),
        {"add": "y += 1"},
        {"add": "y.data += 1"},
        {"add": "y = y + 1"},
    ),
    _patient(
        "frozen",
        ("w",),
        {"make": "momentum", "set_to_none": "False"},
        {"make": "Adam", "set_to_none": "False"},
        {"make": "momentum", "set_to_none": "True"},
        sick="w is frozen after the first step, at 0.8, and moves on. " + SICK,
    ),
    _patient(
        "joined",
        ("w.grad", "error"),
        {"keep": ".item()", "join": "torch.tensor"},
        {"keep": ".item()", "join": "tensor, with the flag"},
        {"keep": "the tensor", "join": "torch.stack"},
    ),
    _patient(
        "unrolled",
        ("error",),
        {"carry": "h", "retain_graph": "False"},
        {"carry": "h", "retain_graph": "True"},
        {"carry": "h.detach()", "retain_graph": "False"},
    ),
)
ROUTE = (
    Stop(
        14,
        14,
        "Tour: copy or cut?",
        "Tell for clone(), detach(), .data and copy_() whether the gradient flows back, and whether"
        " the memory is shared.",
        (
            "Hand out the blank sheet. Show the first program, and read one card and one arrow"
            " together.",
            "Each program: everybody draws on the sheet first, hands up for 5 or 2, then R.",
            "Ask the same two questions each time. The sheet has the same lines as the screen.",
        ),
        (
            (
                "“clone() makes a new leaf, so a gets only 2.”",
                "Follow the arrow from d through b to a: CloneBackward0 hands the 3 on.",
            ),
            (
                "“detach() copies.”",
                "One frame holds both names: it is one block of memory.",
            ),
        ),
        (
            Screen(
                "00_copy_or_cut",
                "scenario",
                ("a.grad", "memory"),
                (
                    State({"copy": "clone"}, COPY.format("b = a.clone()")),
                    State({"copy": "detach"}, COPY.format("b = a.detach()")),
                    State({"copy": ".data"}, COPY.format("b = a.data")),
                    State({"copy": "copy_"}, COPY.format("copy_() into a new b")),
                    State(
                        {"copy": "clone", "mode": "no_grad"}, COPY.format("clone() under no_grad")
                    ),
                ),
                is_wide=True,
            ),
        ),
    ),
    Stop(
        10,
        0,
        "Screen 1: who is tracked?",
        "Predict requires_grad, is_leaf and grad_fn of a small expression.",
        (
            "Hands up before each state: does y require grad? Is it a leaf?",
            "After the last one ask what is missing now. The values are there; the graph is not.",
        ),
        (
            (
                "“y is computed, so it is no leaf.”",
                "A leaf is a tensor without a grad_fn. What autograd did not record is one.",
            ),
            (
                "“Both inputs have to require grad.”",
                "One is enough.",
            ),
        ),
        (
            Screen(
                "01_who_gets_tracked",
                "predict",
                ("y.requires_grad", "y.is_leaf", "y.grad_fn"),
                (
                    State({"operation": "x + w"}, "Only x is tracked. " + REQUIRES),
                    State({"operation": "x.to(float64)"}, "Another dtype. " + REQUIRES),
                    State({"operation": "x > w"}, "A comparison. " + REQUIRES),
                    State({"operation": "(x * w).detach()"}, "Detached. " + REQUIRES),
                    State({"operation": "x + w", "mode": "no_grad"}, "Under no_grad. " + REQUIRES),
                ),
            ),
        ),
    ),
    Stop(
        10,
        0,
        "Screen 2: where is a gradient stored?",
        "Tell the sum that the engine makes within one backward from the one that AccumulateGrad"
        " makes across calls.",
        (
            "Everybody writes down w.grad before each R.",
            "Which sum is made within one backward, and which one across calls?",
        ),
        (
            (
                "“AccumulateGrad runs once for each path.”",
                "The card says 2 + 3 = 5 first, then AccumulateGrad: the engine adds the paths, and stores once.",
            ),
            (
                "“The second backward replaces the first.”",
                "It adds. That is why a training loop clears.",
            ),
        ),
        (
            Screen(
                "02_inside_the_graph",
                "add_up",
                ("w.grad",),
                (
                    State({"paths": "2", "calls": "1"}, "Two paths, one backward. " + STORED),
                    State({"paths": "2", "calls": "2"}, "Two backwards, not cleared. " + STORED),
                    State(
                        {"clear": "w.grad.zero_()", "paths": "2", "calls": "2"},
                        "Set to 0 before each backward. " + STORED,
                    ),
                    State(
                        {"clear": "w.grad = None", "paths": "2", "calls": "2"},
                        "Set to None before each backward. " + STORED,
                    ),
                ),
            ),
        ),
    ),
    Stop(
        12,
        10,
        "Screen 3: place the cut",
        "Say which path a detach() cuts, and what is left of the gradient.",
        (
            "In pairs: sort the four results before the first R.",
            "Follow the thick arrows from z backwards. Say aloud where each one ends, and why.",
        ),
        (
            (
                "“y.detach() stops everything that goes through y.”",
                "Only what goes through its result. The other use of y stays.",
            ),
            (
                "“With two cuts x.grad is 0.”",
                "x is used a third time, in the product.",
            ),
        ),
        (
            Screen(
                "04_detach",
                "place_the_cut",
                ("x.grad",),
                tuple(
                    State(
                        {"product": product, "plus": plus},
                        f"z = {product} * x + {plus}: what is x.grad?",
                    )
                    for product in ("y", "y.detach()")
                    for plus in ("y", "y.detach()")
                ),
            ),
        ),
    ),
    Stop(
        10,
        0,
        "Screen 4: freeze a layer",
        "Tell a frozen layer, which lets the gradient pass, from a cut.",
        (
            "Vote before each R: which of the two layers gets a gradient?",
            "Compare the frozen second layer with no_grad around the first one.",
        ),
        (
            (
                "“Behind a frozen layer nobody gets a gradient.”",
                "The arrow goes past it: only its own AccumulateGrad is missing.",
            ),
        ),
        (
            Screen(
                "08_training_step",
                "layers",
                ("W1.grad", "W2.grad"),
                (
                    State({}, "Both are trained. What are the two gradients?"),
                    State({"train_W2": "False"}, "The second is frozen. And now?"),
                    State({"train_W1": "False"}, "The first is frozen. And now?"),
                    State({"mode": "no_grad"}, "no_grad around the first layer. And now?"),
                ),
            ),
        ),
    ),
    Stop(
        16,
        10,
        "Clinic",
        "Name the line and the reason from the symptom, the code and the picture.",
        (
            "Groups of three take one patient each. R shows the symptom and the picture; the line"
            " and the reason are wanted.",
            "Then Page Down: a remedy that does not help, and one that does. The group says why.",
        ),
        (
            (
                "“.data makes the error go away, so it is right.”",
                "Compare x.grad: the number is wrong, and nothing says so.",
            ),
            (
                "“retain_graph=True, as the message says.”",
                "The error comes back one line later, with another name.",
            ),
        ),
        PATIENTS,
        part="the first three patients",
    ),
    Stop(
        10,
        8,
        "Closing: the table",
        "Fill in both questions for six ways to make a tensor of another.",
        (
            "Everybody fills in the table on the sheet alone, then compares with a neighbour.",
            "Show the key. Two boxes were empty on the sheet: which calls belong there?"
            " (view(1) is shared and linked, detach().clone() own and cut.)",
            "Hand out the homework.",
        ),
        (
            (
                "“Shared and linked cannot be.”",
                "Every view is that: view(1), a slice, t().",
            ),
        ),
    ),
    Stop(
        8,
        3,
        "Buffer",
        "Questions that came up.",
        ("Somewhere it will take longer. If not: the states that nobody asked for, by clicking.",),
    ),
)


MINUTES = sum(stop.minutes for stop in ROUTE)
SHORT = sum(stop.short for stop in ROUTE)


def numbered() -> Iterator[tuple[int, Stop, Screen]]:
    """Go through the screens, each with its number, from 1, and its stop."""
    screens = ((stop, screen) for stop in ROUTE for screen in stop.screens)
    return ((number, stop, screen) for number, (stop, screen) in enumerate(screens, 1))


def place(number: int, screen: Screen) -> str:
    """Return the name of a screen's page in the class's folder.

    >>> place(1, ROUTE[0].screens[0])
    '01_scenario.html'
    """
    return f"{number:02}_{screen.scenario}.html"
