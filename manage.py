#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # It says what to set; where in the settings it was found out helps nobody.
        sys.exit(f"The settings cannot be read: {error}")
