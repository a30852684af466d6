"""The definition of every loop over rows in numpy: what the compiled loops are held to, bit for bit."""
