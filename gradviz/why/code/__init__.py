"""What the program's text tells. Runs none of it."""
