"""From a bare Python to the project's own; nothing here may import a package that has to be installed."""
