"""Scores and labels that arrive apart: rows wait for their other half, and enter a history once they have it."""
