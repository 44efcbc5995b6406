"""What a hub for a class is told is there. That it starts, ``deploy/try_class.py`` shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from course.books import notebooks
from gradviz.notebook import saving

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
CONFIG = DEPLOY / "jupyterhub_config.py"
HOOK = f"--ContentsManager.pre_save_hook={saving.__name__}.{saving.keep_pictures.__name__}"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What the configuration of the hub sets, and ``prepare``."""
    monkeypatch.setenv("GRADVIZ_CLASS_PASSWORD", "a long enough one")
    monkeypatch.setenv("GRADVIZ_HOMES", str(tmp_path))
    return configured()


def configured() -> dict[str, Any]:
    settings: Any = defaultdict(types.SimpleNamespace)
    given = type("Config", (), {"__getattr__": lambda self, name: settings[name]})
    scope = {"get_config": given, "__file__": str(CONFIG)}
    exec(compile(CONFIG.read_text("utf-8"), str(CONFIG), "exec"), scope)
    return {**scope, **settings}


def test_a_class_needs_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADVIZ_CLASS_PASSWORD", "short")
    with pytest.raises(SystemExit, match="at least 8 characters"):
        configured()


def test_a_users_server_is_found_without_the_path(hub: dict[str, Any]) -> None:
    """``jupyterhub-singleuser`` would be looked for on the PATH of whoever starts the hub."""
    assert hub["Spawner"].cmd == [sys.executable, "-m", "jupyterhub.singleuser"]


def test_what_a_class_saves_keeps_its_pictures(hub: dict[str, Any]) -> None:
    assert HOOK in hub["Spawner"].args
    assert HOOK in yaml.safe_load((DEPLOY / "values.yaml").read_text("utf-8"))["singleuser"]["cmd"]


def test_a_user_gets_what_the_notebooks_link_to_and_keeps_what_she_changed(
    hub: dict[str, Any], tmp_path: Path
) -> None:
    user = types.SimpleNamespace(name="ada", id=3)
    spawner = types.SimpleNamespace(user=user)
    hub["Spawner"].pre_spawn_hook(spawner)
    assert spawner.port == hub["FIRST_PORT"] + 3
    home = tmp_path / "ada"
    [start] = re.findall(r"/lab/tree/(.+)", hub["Spawner"].default_url)
    linked = {start}
    for cell in (cell for book in notebooks() for cell in book.cells if cell.kind == "markdown"):
        linked |= {f"notebooks/{to}" for to in re.findall(r"\]\(([^)#:]+)[^):]*\)", cell.source)}
    linked |= {
        f"notebooks/{to}" for to in re.findall(r'href=\\"([^"\\#:]+)', (home / start).read_text())
    }
    assert any("../docs/" in to for to in linked)
    assert [to for to in sorted(linked) if not (home / to).exists()] == []
    (home / start).write_text("hers")
    hub["Spawner"].pre_spawn_hook(spawner)
    assert (home / start).read_text() == "hers"


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        *[(name, True) for name in ("ada", "x-1_y")],
        *[(name, False) for name in ("a/../b", "../b", ".b", "", "ada\n", "Ä")],
    ],
)
def test_the_name_of_a_user_is_one_of_a_folder(
    hub: dict[str, Any], name: str, accepted: bool
) -> None:
    """As JupyterHub asks, which takes a name of which the beginning matches."""
    assert bool(re.match(hub["Authenticator"].username_pattern, name)) is accepted


def test_a_container_holds_what_its_hub_copies_and_nothing_that_is_not_there(
    hub: dict[str, Any],
) -> None:
    copied = [
        source
        for line in re.findall(
            r"(?m)^COPY --chown=\S+ (.+)$", (DEPLOY / "Containerfile").read_text()
        )
        for source in line.split()[:-1]
    ]
    assert {*hub["COPIED"], "gradviz", "deploy", "environment.yml"} <= {*copied}
    assert [source for source in copied if source == "." or not (ROOT / source).exists()] == []
    [start] = re.findall(
        r'"--config", "/opt/gradviz/([^"]+)"', (DEPLOY / "Containerfile").read_text()
    )
    assert ROOT / start == CONFIG


def test_the_way_to_more_machines_copies_the_same(hub: dict[str, Any], tmp_path: Path) -> None:
    """Onto the volume of the user, in which her server shows files, once."""
    values = yaml.safe_load((DEPLOY / "values.yaml").read_text("utf-8"))["singleuser"]
    assert values["defaultUrl"] == hub["Spawner"].default_url
    home = values["storage"]["homeMountPath"]
    assert f"--ServerApp.root_dir={home}" in values["cmd"]
    command = values["lifecycleHooks"]["postStart"]["exec"]["command"]
    (tmp_path / "course").symlink_to(ROOT)  # which may lie in a path with a space
    user = tmp_path / "user"
    user.mkdir()
    places = {home: str(user), "/opt/gradviz": str(tmp_path / "course")}
    here = [re.sub("|".join(places), lambda found: places[found[0]], word) for word in command]
    subprocess.run(here, check=True, env={"PATH": os.environ["PATH"]}, cwd="/")
    assert {path.name for path in user.iterdir()} == {*hub["COPIED"]}
    [start] = re.findall(r"/lab/tree/(.+)", values["defaultUrl"])
    (user / start).write_text("hers")
    subprocess.run(here, check=True, env={"PATH": os.environ["PATH"]}, cwd="/")
    assert (user / start).read_text() == "hers"


def test_what_is_measured_is_this_hub() -> None:
    program = (DEPLOY / "try_class.py").read_text("utf-8")
    compile(program, "try_class.py", "exec")
    text = CONFIG.read_text("utf-8")
    told = re.findall(r'"(GRADVIZ_\w+)"', program)
    assert {"GRADVIZ_CLASS_PASSWORD", "GRADVIZ_HOMES"} <= {*told}
    assert [name for name in told if f'"{name}"' not in text] == []
