"""Watching torch: a finished graph is captured, a running program recorded, a backward followed."""
