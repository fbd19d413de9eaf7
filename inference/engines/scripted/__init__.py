"""The deterministic model server of the tests: every answer follows from the request alone.

Run it with `python -m inference.engines.scripted --port N`; it imports nothing of the platform but its own folder.
"""
