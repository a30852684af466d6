"""Groups and tables: how rows are counted into them, how they add up, the saved form."""
