"""Receipts of evaluations."""

from streammetrics.report.receipts.receipt import Receipt as Receipt
from streammetrics.report.receipts.receipt import receipt_of as receipt_of
from streammetrics.report.receipts.verification import Verification as Verification
from streammetrics.report.receipts.verification import compared as compared
