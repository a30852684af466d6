"""Files, tables and streams as batches."""
