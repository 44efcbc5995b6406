"""Pictures of models: an outline by module calls, open exactly where something happens."""
