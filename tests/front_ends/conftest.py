"""Nothing in here is a test: ``make front-ends`` runs it."""

collect_ignore_glob = ["*.py"]
