"""States: groups and tables, counting, merging, and the saved form."""
