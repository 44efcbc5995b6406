"""What is made from the notebooks: the start page, the site of live pages, and what a class
needs."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
