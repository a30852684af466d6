"""Receipts of evaluations."""

from streammetrics.receipts.receipt import Receipt as Receipt
from streammetrics.receipts.receipt import receipt_of as receipt_of
from streammetrics.receipts.verification import Verification as Verification
from streammetrics.receipts.verification import compared as compared
