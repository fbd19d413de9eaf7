"""The deterministic model server of the tests: every answer follows from the request alone.

Run it with `python -m inference.engines.scripted --port N`; of the platform it imports only the rule
its tokens are counted by.
"""
