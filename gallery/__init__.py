"""Draws pictures of models: ``docs/gallery/`` and the tables of ``docs/gallery.md``.

``python -m gallery small`` draws the small scripts of ``tests/outline/models``, ``python -m gallery
real`` the programs of ``gallery/models``, which need ``requirements-models.txt``.
"""
