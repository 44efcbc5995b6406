"""What stands in a call site where torch itself called the user's code: no code of anybody's."""

# Between the function that torch's checkpoint called and the frame that called checkpoint.
CHECKPOINT = compile("", "<checkpoint>", "exec")

# Between a module's forward and the frame that called the module, where a hook changed the
# arguments.
REPLACED = compile("", "<forward pre-hook>", "exec")
