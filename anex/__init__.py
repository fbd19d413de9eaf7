"""Composition root of the platform. It imports nothing: `anex.cli` is installed where the platform is not."""
