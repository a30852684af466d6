"""What stands out in a report, in sentences: one file per subject, each with functions that yield findings."""
