"""Evaluate model predictions of any size in one pass, with exact metrics or certified bounds from mergeable states."""

from streammetrics.system import forks as forks
from streammetrics.system.public import late_names

__all__, __dir__, __getattr__ = late_names(__name__, __file__)
