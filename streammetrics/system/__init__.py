"""Operating system and other libraries: files, forks, interrupts, errors, and late imports."""
