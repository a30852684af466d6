"""Two evaluations compared, drift, and distances between distributions."""
