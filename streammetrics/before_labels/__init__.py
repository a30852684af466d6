"""Metrics of rows whose labels have not arrived, expected from rows that have labels."""
