"""The CPU model server: llama.cpp in a process of its own, with open weights that an installed package carries.

Run it with `python -m inference.engines.local --port N`. It needs a new connection for every request,
checks few parameters, and it answers `tool_choice: required` in words.
"""
