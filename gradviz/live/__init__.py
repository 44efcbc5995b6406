"""Pictures that answer: controls over a scenario, the widget, the player, the exported page."""
