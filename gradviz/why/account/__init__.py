"""What the recorded steps did, told where nothing is wrong by itself."""
