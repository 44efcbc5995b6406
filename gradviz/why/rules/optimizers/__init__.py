"""Rules about what optimizers hold and move."""
