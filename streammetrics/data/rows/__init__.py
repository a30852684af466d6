"""Any batch as validated arrays by role, arranged by group."""
