"""The rules of ``why``: what each proves. Their order stands in ``why/answering/table.py``."""
