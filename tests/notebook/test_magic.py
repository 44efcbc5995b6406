"""%%gradviz in a real kernel and in a real shell."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

pytestmark = pytest.mark.dear(6)

SETUP = "%load_ext gradviz\nimport torch\na = torch.tensor([1.0, 2.0], requires_grad=True)"


# as in a kernel that has just begun
RESET = """%unload_ext gradviz
%reset -f
import sys
vars(sys).pop("last_exc", None), vars(sys).pop("last_value", None)
get_ipython().execution_count = 1"""


class Run:
    """Runs cells in one kernel, since to start one and to import torch takes seconds."""

    def __init__(self) -> None:
        self.client = NotebookClient(nbformat.v4.new_notebook(), timeout=600)
        self.client.create_kernel_manager()
        self.client.start_new_kernel(stderr=subprocess.DEVNULL)
        self.client.start_new_kernel_client()

    def __call__(self, *cells: str, allow_errors: bool = True) -> list[list[Any]]:
        """The outputs of every cell after ``SETUP``, from a namespace that holds nothing else."""
        made = [nbformat.v4.new_code_cell(c) for c in (RESET, SETUP, *cells)]
        self.client.nb = nbformat.v4.new_notebook(cells=made)
        self.client.allow_errors = allow_errors
        self.client.reset_execution_trackers()
        self.client.execute_cell(made[0], 0, store_history=False)
        for at, cell in enumerate(made[1:], 1):
            self.client.execute_cell(cell, at)
        assert made[1].execution_count == 1
        return [cell.outputs for cell in made[2:]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    made = Run()
    yield made
    made.client._cleanup_kernel()


def kinds(outputs: list[Any]) -> list[str]:
    return [o.output_type for o in outputs]


def text(output: Any) -> str:
    """What a reader without pictures sees, without terminal colours."""
    found = (
        output.get("text")
        or output.get("data", {}).get("text/plain")
        or "\n".join(output.get("traceback", []))
    )
    return re.sub(r"\x1b\[[0-9;]*m", "", found)


def test_picture_stands_below_the_cells_own_output(run: Run) -> None:
    ordinary, marked = run("b = a * 2\nprint('mine')\nb", "%%gradviz\nb = a * 2\nprint('mine')\nb")
    assert kinds(marked) == ["stream", "execute_result", "display_data"]
    assert [text(o) for o in marked[:2]] == [text(o) for o in ordinary]
    assert "MulBackward0" in text(marked[2])
    assert "<img" in marked[2]["data"]["text/html"]


def test_failing_cell_keeps_its_traceback_and_shows_what_ran_until_then(run: Run) -> None:
    body = "\nb = a.exp()\nc = b.log2()\nraise ValueError('stop here')\nd = c.sin()"
    ordinary, marked = run("# %%gradviz" + body, "%%gradviz" + body)
    assert kinds(marked) == ["error", "display_data"]
    assert text(marked[0]) == text(ordinary[0]).replace("Cell In[2]", "Cell In[3]")
    assert marked[0]["evalue"] == "stop here"
    assert "Log2Backward0" in text(marked[1])
    assert "SinBackward0" not in text(marked[1])


@pytest.mark.xfail(
    sys.version_info < (3, 11),
    strict=True,
    reason="Python 3.10 re-raises the old traceback: one frame stays",
)
def test_errors_of_torch_show_no_frame_of_gradviz(run: Run) -> None:
    operator, in_place = "\nb = a @ torch.ones(5)", "\nb = a.exp()\nb += 1\nb.sum().backward()"
    ordinary, marked, corrupted = run(
        "# %%gradviz" + operator, "%%gradviz" + operator, "%%gradviz" + in_place
    )
    assert text(marked[0]) == text(ordinary[0]).replace("Cell In[2]", "Cell In[3]")
    assert kinds(marked) == kinds(corrupted) == ["error", "display_data"]
    assert "modified by an inplace operation" in text(corrupted[0])
    assert "----> 4 b.sum().backward()" in text(corrupted[0])
    assert not re.search(r"gradviz/\w+\.py|gradviz/(watch|notebook|why)/", text(corrupted[0]))


def test_a_cell_that_awaits_has_the_calls_of_its_own_tasks(run: Run) -> None:
    """A task of an earlier cell that runs meanwhile is left out, and that is said."""
    begun, recorded, plain = run(
        "import asyncio\n"
        "next_cell = asyncio.Event()\n"
        "async def work(function, times):\n"
        "    for _ in range(times):\n"
        "        function()\n"
        "        await asyncio.sleep(0.01)\n"
        "async def work_later():\n"
        "    await next_cell.wait()\n"
        "    await work(a.tanh, 3)\n"
        "before = asyncio.create_task(work_later())",
        "%%gradviz\nnext_cell.set()\n"
        "await asyncio.gather(work(a.exp, 1), work(a.sin, 2))\nawait before\nb = a.cos()",
        "await work(a.tan, 1)\nlen(torch.overrides._get_current_function_mode_stack())",
    )
    assert kinds(begun) == []
    assert kinds(recorded) == ["display_data"]
    for name, times in {"Exp": 1, "Sin": 2, "Cos": 1, "Tanh": 0}.items():
        assert text(recorded[0]).splitlines().count(f"    {name}Backward0") == times
    assert re.search(r"\d calls? that other asyncio tasks", text(recorded[0]))
    assert text(plain[0]) == "0"


def test_failing_cell_stops_a_run_of_all_cells(run: Run) -> None:
    with pytest.raises(CellExecutionError, match="stop here"):
        run("%%gradviz\na * 2\nraise ValueError('stop here')", allow_errors=False)


def test_recording_ends_with_its_cell_also_after_an_error(run: Run) -> None:
    failed, plain, again = run("%%gradviz\na.exp()\n1 / 0", "a.sin()", "%%gradviz\nc = a.cos()")
    assert kinds(failed) == ["error", "display_data"]
    assert kinds(plain) == ["execute_result"]
    assert "CosBackward0" in text(again[0])
    assert "SinBackward0" not in text(again[0])


def test_other_kinds_of_cells(run: Run) -> None:
    awaited, above, below, syntax, first, nested, unloaded = run(
        "%%gradviz\nimport asyncio\nawait asyncio.sleep(0)\nb = a.exp()\n7",
        "%%time\n%%gradviz\nb = a.exp()",
        "%%gradviz\n%%time\nb = a.exp()",
        "%%gradviz\nb = a.exp() +",
        "\n  %%gradviz\n  b = a.exp()",
        "%%gradviz\nget_ipython().run_cell('b = a.sin()'); c = b.exp()",
        "%unload_ext gradviz\nget_ipython().run_cell('%%gradviz\\nb = a.exp()');",
    )
    assert kinds(awaited) == ["execute_result", "display_data"]
    assert kinds(above) == kinds(below) == ["stream", "display_data"]
    assert kinds(syntax) == ["error"]
    assert kinds(first) == ["display_data"]
    for outputs in (awaited, above, below, first, nested):
        assert "ExpBackward0" in text(outputs[-1])
    assert kinds(nested) == ["display_data"]
    assert "SinBackward0" in text(nested[0])
    assert "Cell magic `%%gradviz` not found" in text(unloaded[0])


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """The one shell that display() talks to, without history on disk."""
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_cell(SETUP)
    yield made
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        (
            "%%gradviz view=wrong\na * 2",
            "%%gradviz got 'view=wrong', expected view=cards or view=nodes",
        ),
        ("%%gradviz nodes\na * 2", "%%gradviz got 'nodes', expected view=cards or view=nodes"),
        ("%gradviz wat", "%gradviz wat is not known"),
    ],
)
def test_wrong_options_say_what_is_expected_and_run_nothing(
    shell: InteractiveShell, cell: str, complaint: str
) -> None:
    with capture_output() as captured:
        result = shell.run_cell(cell)
    assert not result.success
    assert complaint in captured.stdout + captured.stderr
    assert not captured.outputs


def test_view_option_draws_nodes(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        shell.run_cell("%%gradviz view=nodes\nb = a * 2")
    (picture,) = captured.outputs
    assert "MulBackward0" in picture.data["text/plain"]


def test_line_magic_says_what_there_is(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        shell.run_cell("%gradviz")
    assert "%%gradviz as the first line of a cell" in captured.stdout


def test_loading_twice_records_once_and_unloading_leaves_nothing(shell: InteractiveShell) -> None:
    from gradviz.notebook import magic

    before = list(shell.input_transformers_cleanup)
    magic.load(shell)
    assert shell.input_transformers_cleanup == before
    magic.unload(shell)
    magic.unload(shell)
    assert shell.input_transformers_cleanup == before[:-1]
    assert not [c for c in shell.events.callbacks["pre_run_cell"] if "gradviz" in repr(c)]
    assert "gradviz" not in shell.magics_manager.magics["cell"]


def test_the_first_line_says_how_the_picture_is_opened(run: Run) -> None:
    model = "import torch\nh = torch.nn.Linear(2, 2)(torch.ones(1, 2))\nloss = (h * 3).sum()\n"
    closed, around, wrong, summed = run(
        f"%%gradviz depth=0\n{model}loss.backward()",
        f"%%gradviz around=h depth=0 fold=yes\n{model}loss.backward()",
        f"%%gradviz around=nobody\n{model}",
        "%%gradviz summaries=yes\nimport torch\nh = torch.ones(9).cumsum(0)\n",
    )
    assert "5 ± 2.74 · 1 … 9" in text(summed[0])
    assert "Linear" in text(closed[0])
    assert "makes h" in text(around[0])
    assert "around= was given 'nobody'" in text(wrong[0])
    assert kinds(wrong)[-1] == "display_data"


NETWORKS = """
G, D = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
"""
JUDGE = "%%gradviz\nfake = G(torch.ones(4, 2))\nd_loss = D(fake.detach()).mean()\nd_loss.backward()\nopt_d.step()"
LEARN = "%%gradviz\nopt_g.zero_grad()\ng_loss = D(fake{cut}).mean()\ng_loss.backward()\n{step}"


@pytest.mark.parametrize(
    ("cut", "step", "is_told"),
    [
        (".data", "opt_g.step()", True),
        ("", "opt_g.step()", False),
        (".data", "opt_d.step()", False),
    ],
)
def test_what_an_earlier_cell_computed_and_this_one_cuts_is_told(
    run: Run, cut: str, step: str, is_told: bool
) -> None:
    (told,) = run(NETWORKS, JUDGE, LEARN.format(cut=cut, step=step), "%gradviz why")[-1]
    assert (".data cuts it from g_loss" in text(told)) == is_told


REFUSED = """%%gradviz
import copy, torch
layers = lambda: (torch.nn.Linear(2, 4), torch.nn.Dropout(0.1), torch.nn.Linear(4, 1))
models = [torch.nn.Sequential(*layers()) for _ in range(5)]
params, buffers = torch.func.stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
def forward_one(p, b, x):
    return torch.func.functional_call(base, (p, b), (x,))
opt = torch.optim.Adam(params.values())
torch.vmap(forward_one, in_dims=(0, 0, None))(params, buffers, torch.randn(3, 2))
"""


def test_a_picture_without_signs_has_no_legend(
    shell: InteractiveShell, capfd: pytest.CaptureFixture[str]
) -> None:
    """Graphviz says on stderr that it takes no empty table."""
    with capture_output() as captured:
        assert not shell.run_cell(REFUSED).success
    assert any("<img" in output.data.get("text/html", "") for output in captured.outputs)
    assert "syntax error" not in capfd.readouterr().err
