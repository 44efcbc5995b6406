"""What comes back: an explanation, its place in a model, tables."""
