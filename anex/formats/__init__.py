"""How dates are written, by language; the console writes them the same way (templates/console/time.html)."""
