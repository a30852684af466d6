"""Histories of states: the store, its layout in a Delta Lake table, and rules."""
