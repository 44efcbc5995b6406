"""Rules about everything that was asked about."""
