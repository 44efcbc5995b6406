"""Words that need no graph: so far what was given as an argument, and how to mend it."""
