"""What a recording proves, before anybody judges it."""
