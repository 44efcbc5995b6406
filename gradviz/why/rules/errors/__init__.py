"""Rules about a call that raised."""
