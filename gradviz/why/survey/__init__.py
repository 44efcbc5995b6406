"""All parameters at once: ``reach()`` and ``will_it_move()``."""
