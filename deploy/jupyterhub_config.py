# JupyterHub for a class on one machine: jupyterhub --config deploy/jupyterhub_config.py
# Everybody signs in with a name of their own and the password of the class, and gets a copy of the
# notebooks and of what they link to. All servers run as one user of the machine, so this is for
# people who may see each other's files; README.md has the way to more.
import os
import shutil
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - JupyterHub gives it

HERE = Path(__file__).parent if "__file__" in globals() else Path.cwd() / "deploy"
COURSE = Path(os.environ.get("GRADVIZ_COURSE", HERE.parent))  # holds the folders of COPIED
COPIED = ("notebooks", "docs")  # the notebooks, and what they link to
HOMES = Path(os.environ.get("GRADVIZ_HOMES", "/srv/class"))  # a folder for each user
FIRST_PORT = int(os.environ.get("GRADVIZ_FIRST_PORT", "20000"))

password = os.environ.get("GRADVIZ_CLASS_PASSWORD", "")
if len(password) < 8:
    raise SystemExit(
        "set GRADVIZ_CLASS_PASSWORD to the password of the class: at least 8 characters"
    )
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = password
c.Authenticator.allow_all = True
# a name becomes that of a folder; JupyterHub compares its beginning only, so the end is asked for
c.Authenticator.username_pattern = r"[a-z0-9][a-z0-9_-]*\Z"

c.JupyterHub.bind_url = os.environ.get("GRADVIZ_BIND", "http://127.0.0.1:8000")
c.JupyterHub.db_url = f"sqlite:///{HOMES / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(HOMES / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(HOMES / "proxy.pid")
c.JupyterHub.spawner_class = "simple"
# the hub's own Python, also where its environment is not activated and so not on the PATH
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.SimpleLocalProcessSpawner.home_dir_template = str(HOMES / "{username}")
c.Spawner.default_url = "/lab/tree/notebooks/index.ipynb"
# a class comes all at once, and a server that has to share its core starts slowly
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
c.JupyterHub.concurrent_spawn_limit = 4
c.JupyterHub.active_server_limit = int(os.environ.get("GRADVIZ_USERS", "30"))
# one thread a kernel: a class's small tensors gain nothing by more, and thirty kernels would fight
# for the cores
c.Spawner.environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
c.Spawner.args = [
    "--ServerApp.terminals_enabled=False",
    # what is saved keeps its pictures: a live view is known to its kernel alone
    "--ContentsManager.pre_save_hook=gradviz.notebook.saving.keep_pictures",
    # a kernel that nobody used for half an hour is ended, its picture stays; a server without
    # kernels after an hour
    "--MappingKernelManager.cull_idle_timeout=1800",
    "--MappingKernelManager.cull_connected=True",
    "--ServerApp.shutdown_no_activity_timeout=3600",
]


def prepare(spawner):
    """Give a user her own copy of the course, once: what she changed stays. And a port of her own:
    two servers that look for a free one at the same moment may find the same."""
    spawner.port = FIRST_PORT + spawner.user.id
    home = HOMES / spawner.user.name
    for folder in COPIED:
        if not (home / folder).exists():
            shutil.copytree(COURSE / folder, home / folder)


c.Spawner.pre_spawn_hook = prepare
