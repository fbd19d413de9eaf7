"""MiniLM on the CPU: embeddings, and typed decisions by similarity, with the weights that an installed package carries.

Run it with `python -m inference.engines.minilm --port N --cache FOLDER`. The decisions are a stand-in for development:
an encoder that never learned to answer questions compares the text with each option.
"""
