"""Rules about how large gradients are."""
