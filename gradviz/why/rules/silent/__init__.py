"""Rules about what goes wrong although nothing raises."""
