"""What was asked about: names, a failing line, what it holds."""
