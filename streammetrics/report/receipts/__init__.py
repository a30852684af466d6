"""Receipts of evaluations."""

from streammetrics.report.receipts.receipt import Receipt, receipt_of
from streammetrics.report.receipts.verification import Verification, compared
