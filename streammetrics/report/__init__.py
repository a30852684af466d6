"""What people see: estimates, frames, curves; and two reports side by side."""
