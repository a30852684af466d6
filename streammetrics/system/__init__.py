"""The machine and other libraries: files, forks, interrupts, foreign errors, late imports."""
