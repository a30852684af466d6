"""States over time: the store, how it lies in a Delta Lake table, rules."""
