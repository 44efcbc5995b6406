"""Jupyter's side: ``%%gradviz``, ``%gradviz why``, questions."""
