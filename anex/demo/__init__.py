"""The main job shown to a person: through the public HTTP API alone, on text that is on any machine."""
