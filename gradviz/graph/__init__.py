"""What is known of one autograd graph, as plain data. Knows no torch."""
