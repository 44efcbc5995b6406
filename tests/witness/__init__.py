"""What torch itself says of a scenario, read without gradviz's recorder, and what a panel's state
shows, compared."""
