"""`make test-clients`: the published clients of others against the platform, each in an environment of its own.

A folder below `suites/` is a client; see the README there. Nothing here is part of the default suite.
"""
