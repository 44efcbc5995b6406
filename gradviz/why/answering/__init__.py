"""From a question to its answer: what a bare question starts at, and the one table of rules."""
