"""The command line: the public functions, one command each."""

from streammetrics.cli import before_labels as before_labels
from streammetrics.cli import compare as compare
from streammetrics.cli import demo as demo
from streammetrics.cli import evaluate as evaluate
from streammetrics.cli import history as history
from streammetrics.cli import operating_point as operating_point
from streammetrics.cli import planning as planning
from streammetrics.cli import receipts as receipts
from streammetrics.cli import slices as slices
from streammetrics.cli import states as states
from streammetrics.cli import store as store
from streammetrics.cli.root import main as main
