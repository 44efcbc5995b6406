"""Plain scripts that measure gradviz against its peers: ``python -m benchmarks`` runs them all.
Never run as tests."""
