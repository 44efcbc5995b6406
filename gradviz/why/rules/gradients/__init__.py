"""Rules about the .grad of one tensor."""
