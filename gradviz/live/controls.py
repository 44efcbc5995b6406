"""The controls of ``gv.explore``: ready-made ones for users, and what turns ipywidgets'
abbreviations into controls.

The ready-made ones are abbreviations themselves, so they can be used in any number of explorations,
and changed: ``copy={**gv.controls.copies, "half": lambda t: t / 2}``.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import GradvizError
from gradviz.words import given
from gradviz.words.speech import say

NONE = object()  # "no default": None may be one
BUTTONS = 5  # so many choices are shown as buttons, if their names take at most
LETTERS = 60  # letters in all; else as a dropdown list
LISTED = 1000  # values of a slider that are listed; one with more works, and cannot be exported
CLICKS = 3  # an exported page has the states after so many clicks on a button

grad_mode: dict[str, Any] = {
    "none": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "enable_grad": torch.enable_grad,
}
"""Context managers: the scenario writes ``with mode():``."""

requires_grad = True
"""A checkbox, ticked."""

copies: dict[str, Any] = {
    "clone": torch.Tensor.clone,
    "detach": torch.Tensor.detach,
    "detach + requires_grad_": lambda tensor: tensor.detach().requires_grad_(),
    ".data": lambda tensor: tensor.data,
    "copy_": lambda tensor: torch.empty_like(tensor).copy_(tensor),
}
"""Ways to copy a tensor: the scenario writes ``b = copy(a)``."""


class Button(NamedTuple):
    """A button; its value is how often it was clicked."""

    label: str


def button(label: str) -> Button:
    """Describe a button whose value is the number of clicks since the start or the last Reset.

    Args:
        label: what stands on it.

    Returns:
        An abbreviation for ``gv.explore``.

    Raises:
        GradvizError: the label is blank, or no text.

    Example:
        >>> import gradviz as gv
        >>> from gradviz.live.controls import button
        >>> @gv.explore(again=button("backward again"))
        ... def scenario(again):
        ...     a = torch.ones(1, requires_grad=True)
        ...     for _ in range(1 + again):
        ...         (a * 2).sum().backward()
        >>> scenario.values
        {'again': '0'}
    """
    given.text("button()", label, "what stands on it, as a text, e.g. 'backward again'")
    if not label.strip():
        raise GradvizError(
            "button() was given a blank text; expected what stands on it, e.g. 'backward again'"
        )
    return Button(label)


class Control:
    """One control: a widget, and what its states are called.

    Attributes:
        kind: "buttons", "dropdown", "checkbox", "slider" or "counter"; "other" for a widget of
            another sort.
        choices: label -> value. Empty for "other" and for very long sliders; for a counter, those
            that an exported page has.
        start: the widget's state at the start, as ``put`` takes it.
        label: what stands beside it, or on it.
        ours: whether the widget was made here, and is not the reader's own.
    """

    def __init__(self, name: str, kind: str, widget: Any, choices: dict[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.widget = widget
        self.choices = choices
        self.ours = True
        # A selection is told by its index: values may be tensors, whose == is no answer.
        self.trait = "value" if isinstance(getattr(widget, "index", ()), tuple) else "index"
        self.start = self.raw
        self.label = widget.description = widget.description or name
        if getattr(widget, "tooltip", name) is None:
            widget.tooltip = self.label  # else its label shows the word "null"

    @property
    def raw(self) -> Any:
        """The widget's state."""
        return getattr(self.widget, self.trait)

    def put(self, raw: Any) -> None:
        """Set the widget's state."""
        setattr(self.widget, self.trait, raw)

    def in_page(self, raw: Any) -> tuple[str, Any]:
        """Return the trait that the page knows in this state of the widget, and what it is then."""
        if self.kind == "counter":  # the page counts nothing; it shows the count
            return "description", _counted(self.label, raw)
        return self.trait, raw

    @property
    def place(self) -> int:
        """Where the start stands among the choices."""
        labels = list(self.choices)
        return self.start or 0 if self.trait == "index" else labels.index(_say(self.start))

    @property
    def is_drawn(self) -> bool:
        """Whether the panel draws it at its line of the code. A widget of the reader's own, and one
        whose states cannot be listed, is shown as it is."""
        return self.ours and bool(self.choices)

    def place_of(self, raw: Any) -> int | None:
        """Return where one of the widget's states stands among the choices: what a panel's
        ``values`` holds. Of a counter it is the count; None where it is none of them."""
        if self.trait == "index" or self.kind == "counter":
            return None if raw is None else int(raw)
        labels = list(self.choices)
        return labels.index(_say(raw)) if _say(raw) in labels else None

    def raw_at(self, place: int) -> Any:
        """Return the widget's state that stands at a place, as ``put`` takes it."""
        if self.trait == "index" or self.kind == "counter":
            return place
        return list(self.choices.values())[place]

    @property
    def described(self) -> dict[str, Any]:
        """What a page needs to draw it."""
        return {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "options": list(self.choices),
            "start": self.place,
        }

    def read(self) -> tuple[str, Any]:
        """Return label and value now. The widget is asked once, since another thread may change
        it."""
        return self.at(self.raw)

    def at(self, raw: Any) -> tuple[str, Any]:
        """Return label and value of one of the widget's states."""
        if self.trait == "value":
            return _say(raw), raw
        return ("None", None) if raw is None else list(self.choices.items())[raw]

    def find(self, wanted: Any) -> Any:
        """Return the widget's state for a label or a value, as ``put`` takes it.

        Raises:
            GradvizError: there is no such label and no such value.
        """
        index = self._index_of(wanted)
        if index is not None:
            return index if self.trait == "index" else list(self.choices.values())[index]
        if not self.choices:
            return wanted  # its widget has the last word
        if self.kind == "counter" and isinstance(wanted, int) and wanted >= 0:
            return wanted
        raise self._no_such_state(wanted)

    def _index_of(self, wanted: Any) -> int | None:
        """Return which choice has this label, is this value or, at last, equals it."""
        labels = list(self.choices)
        values = list(self.choices.values())
        if isinstance(wanted, str) and wanted in labels:
            return labels.index(wanted)
        for i, value in enumerate(values):
            if value is wanted:
                return i
        for i, value in enumerate(values):
            if _same(value, wanted):
                return i
        return None

    def _no_such_state(self, wanted: Any) -> GradvizError:
        """Return the error that says which states there are."""
        labels = list(self.choices)
        shown_labels = [*labels[:3], "…", labels[-1]] if len(labels) > 12 else labels
        wanted_text = wanted[:LETTERS] if type(wanted) is str else given.shown(wanted)
        return GradvizError(
            f"{self.name}={wanted_text} is not one of the control's states:"
            f" {', '.join(shown_labels)}"
        )


def control(name: str, abbreviation: Any, default: Any = NONE) -> Control:
    """Make a control as ``ipywidgets.interact`` would: bool -> checkbox, (min, max) -> slider, list
    -> choice, ...

    Args:
        name: of the parameter.
        abbreviation: ipywidgets' own, a widget, a ``range``, or one of this module's.
        default: the parameter's default: the state at the start.

    Returns:
        A control at its start.

    Raises:
        GradvizError: no control can be made of it, or it has no such state.

    Example:
        >>> copy = control("copy", ["clone", "detach"], "detach")
        >>> copy.kind, copy.read()
        ('buttons', ('detach', 'detach'))
    """
    given.text("control()", name, "the parameter's name, as a text")
    new_control = _control(name, abbreviation)
    if default is NONE:
        return new_control
    widget = new_control.widget
    is_slider = new_control.kind == "slider"
    if is_slider and _is_number(default) and widget.min <= default <= widget.max:
        widget.value = default
        ours = new_control.ours
        new_control = _of_widget(name, widget)  # which lists it, between two steps as well
        new_control.ours = ours
    new_control.put(new_control.find(default))
    new_control.start = new_control.raw
    return new_control


def _control(name: str, abbreviation: Any) -> Control:
    """Make a control of an abbreviation, at the start that this gives it."""
    import ipywidgets

    if isinstance(abbreviation, Button):
        return Control(
            name, "counter", _counter(abbreviation.label), {str(n): n for n in range(CLICKS + 1)}
        )
    if isinstance(abbreviation, range) and len(abbreviation) and abbreviation.step > 0:
        abbreviation = (abbreviation[0], abbreviation[-1], abbreviation.step)
    if isinstance(abbreviation, ipywidgets.ValueWidget):
        control_of_reader = _of_widget(name, abbreviation)
        control_of_reader.ours = False
        return control_of_reader
    new_control = _new_control(name, abbreviation)
    if new_control is None:
        raise GradvizError(
            f"no control can be made of {name}={given.shown(abbreviation)}; expected a bool, a"
            " number, a text, (min, max) or (min, max, step), a list or dict of choices, a widget,"
            " or one of gv.controls"
        )
    return new_control


def _new_control(name: str, abbreviation: Any) -> Control | None:
    """Make a control of choices, or of what ipywidgets abbreviates; None where it is neither."""
    import ipywidgets

    try:
        if _offers_choices(abbreviation):
            return _choice(name, _choices(name, abbreviation))
        widget = ipywidgets.interactive.widget_from_abbrev(abbreviation)
    except GradvizError:
        raise
    # (5, 1), a step below 0, a tensor of no dimension, or code of the value's own
    except Exception:
        return None
    if widget is None or isinstance(abbreviation, bytes):
        return None
    if not math.isfinite(getattr(widget, "max", 0)):
        return None
    if isinstance(widget, ipywidgets.FloatSlider):
        _fit_steps(widget, abbreviation)
    widget.style.description_width = "initial"  # the whole name is to be seen
    widget.indent = False  # of a checkbox
    return _of_widget(name, widget)


def _offers_choices(abbreviation: Any) -> bool:
    """Tell whether an abbreviation is a collection of choices."""
    if isinstance(abbreviation, (str, bytes, tuple, type)):
        return False
    return isinstance(abbreviation, Iterable)


def _fit_steps(slider: Any, abbreviation: Any) -> None:
    """Give a slider of floats, where the reader named no step, steps that fit its range, and let
    its start stand on one."""
    is_range = isinstance(abbreviation, tuple)
    if is_range and len(abbreviation) == 3:
        return
    if slider.max - slider.min < 10 * slider.step:  # which is a long one for a learning rate
        slider.step = float(f"{(slider.max - slider.min) / 40:.1g}") or slider.step
        slider.readout_format = ".3g"
    steps = round((slider.value - slider.min) / slider.step)
    start = float(_say(slider.min + steps * slider.step))
    # its middle may be between two steps, and a browser would move it
    if is_range:
        slider.value = start
    elif start != slider.value:
        slider.step = (slider.max - slider.min) / 40
        slider.readout_format = ".3g"


def _of_widget(name: str, widget: Any) -> Control:
    """Make a control around a widget as it is."""
    import ipywidgets

    if (
        hasattr(widget, "index")
        and hasattr(widget, "label")
        and not isinstance(widget.index, tuple)
    ):
        kind = "buttons" if isinstance(widget, ipywidgets.ToggleButtons) else "dropdown"
        return Control(name, kind, widget, _choices(name, widget.options))
    if isinstance(widget, (ipywidgets.Checkbox, ipywidgets.ToggleButton)):
        return Control(name, "checkbox", widget, {"False": False, "True": True})
    if isinstance(widget, (ipywidgets.IntSlider, ipywidgets.FloatSlider)):
        count = math.floor((widget.max - widget.min) / widget.step + 1e-9) + 1
        steps = range(count) if count <= LISTED else ()
        values = [type(widget.min)(_say(widget.min + i * widget.step)) for i in steps]
        if values and _say(widget.value) not in map(_say, values):
            values = sorted([*values, widget.value])
        return Control(name, "slider", widget, {_say(v): v for v in values})
    return Control(name, "other", widget, {})


def _choices(name: str, offered: Iterable[Any]) -> dict[str, Any]:
    """Return label -> value of what is offered. Callables are called by their names."""
    choices: dict[str, Any] = {}
    mapping = isinstance(offered, Mapping)
    for item in offered.items() if isinstance(offered, Mapping) else offered:
        pair = mapping or (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str))
        label, value = item if pair else (getattr(item, "__name__", None) or _say(item), item)
        if str(label) in choices:
            raise GradvizError(
                f"{name} has two choices called {label!r:.80}; give a dict: {name}={{'a name':"
                " value, …}"
            )
        choices[str(label)] = value
    if not choices:
        raise GradvizError(f"{name} has nothing to choose from; expected at least one choice")
    return choices


def _choice(name: str, choices: dict[str, Any]) -> Control:
    """Make a control of choices: buttons where they are few and short, else a dropdown list."""
    import ipywidgets

    labels = list(choices)
    style = {"description_width": "initial"}
    if len(labels) > BUTTONS or sum(map(len, labels)) > LETTERS:
        return Control(name, "dropdown", ipywidgets.Dropdown(options=labels, style=style), choices)
    style["button_width"] = "auto"
    # a screen reader hears what a button is for
    tooltips = [say("panel.choice", control=name, choice=label) for label in labels]
    return Control(
        name,
        "buttons",
        ipywidgets.ToggleButtons(options=labels, tooltips=tooltips, style=style),
        choices,
    )


def _counter(label: str) -> Any:
    """Make a button that counts its clicks and shows the count."""
    import ipywidgets
    from traitlets import CInt

    widget = ipywidgets.Button(description=label, layout={"width": "auto"})
    widget.add_traits(value=CInt(0, min=0))

    def clicked(_: Any) -> None:
        widget.value += 1

    def show(change: Any) -> None:
        widget.description = _counted(label, change.new)

    widget.on_click(clicked)
    widget.observe(show, "value")
    return widget


def _counted(label: str, clicks: int) -> str:
    """Return what stands on a counter."""
    return say("panel.counter", label=label, n=clicks) if clicks else label


def _say(value: Any) -> str:
    """Return what a value without a name is called."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number that a slider can stand at."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(a: Any, b: Any) -> bool:
    """Tell whether two values are one, or say that they are equal."""
    try:
        return a is b or bool(a == b)
    except Exception:  # tensors of several elements, arrays
        return False
