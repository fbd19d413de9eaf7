"""Embedded services and the processes of one-command use; knows no app."""
