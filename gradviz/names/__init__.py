"""What a tensor is called, and which source text made it: read off the syntax tree afterwards."""
