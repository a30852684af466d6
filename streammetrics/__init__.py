"""Evaluate model predictions of any size in one pass, with exact metrics or certified bounds from mergeable states."""

from streammetrics.base import public_names

__all__, __dir__, __getattr__ = public_names(__name__, __file__)
