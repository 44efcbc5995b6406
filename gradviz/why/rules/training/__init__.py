"""Rules about what a training loop does with gradients."""
