"""Any batch or source as rows by role."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.data.rows.arrays import Pair as Pair
    from streammetrics.data.rows.arrays import Rows as Rows
    from streammetrics.data.rows.arrays import rows_by_model as rows_by_model
    from streammetrics.data.rows.arrow import in_utc as in_utc
    from streammetrics.data.rows.batches import Batch as Batch
    from streammetrics.data.rows.batches import append as append
    from streammetrics.data.rows.batches import no_rows as no_rows
    from streammetrics.data.rows.batches import read as read
    from streammetrics.data.rows.codes import as_written as as_written
    from streammetrics.data.rows.codes import ascending as ascending
    from streammetrics.data.rows.codes import encode as encode
    from streammetrics.data.rows.codes import find as find
    from streammetrics.data.rows.codes import number as number
    from streammetrics.data.rows.codes import summed as summed
    from streammetrics.data.rows.columns import Reader as Reader
    from streammetrics.data.rows.columns import require_columns as require_columns
    from streammetrics.data.rows.exact_sums import DECIMAL as DECIMAL
    from streammetrics.data.rows.exact_sums import LARGEST as LARGEST
    from streammetrics.data.rows.exact_sums import of_words as of_words
    from streammetrics.data.rows.exact_sums import to_decimals as to_decimals
    from streammetrics.data.rows.exact_sums import to_floats as to_floats
    from streammetrics.data.rows.folds import FEWEST_FOLDS as FEWEST_FOLDS
    from streammetrics.data.rows.folds import FOLDS as FOLDS
    from streammetrics.data.rows.folds import MOST_FOLDS as MOST_FOLDS
    from streammetrics.data.rows.folds import Hashes as Hashes
    from streammetrics.data.rows.folds import fold as fold
    from streammetrics.data.rows.folds import hash_values as hash_values
    from streammetrics.data.rows.folds import identities as identities
    from streammetrics.data.rows.frames import DIGITS as DIGITS
    from streammetrics.data.rows.frames import common_types as common_types
    from streammetrics.data.rows.frames import concat_groups as concat_groups
    from streammetrics.data.rows.frames import decoded as decoded
    from streammetrics.data.rows.frames import group_column as group_column
    from streammetrics.data.rows.frames import has_values as has_values
    from streammetrics.data.rows.frames import joint_types as joint_types
    from streammetrics.data.rows.frames import stored_types as stored_types
    from streammetrics.data.rows.frames import to_frame as to_frame
    from streammetrics.data.rows.frames import typed as typed
    from streammetrics.data.rows.frames import types_of as types_of
    from streammetrics.data.rows.labels import joint as joint
    from streammetrics.data.rows.roles import FOLD as FOLD
    from streammetrics.data.rows.roles import LABEL as LABEL
    from streammetrics.data.rows.roles import MODEL as MODEL
    from streammetrics.data.rows.roles import SEVERAL as SEVERAL
    from streammetrics.data.rows.roles import SINGLE as SINGLE
    from streammetrics.data.rows.roles import Column as Column
    from streammetrics.data.rows.roles import Columns as Columns
    from streammetrics.data.rows.roles import Kind as Kind
    from streammetrics.data.rows.roles import Names as Names
    from streammetrics.data.rows.roles import Roles as Roles
    from streammetrics.data.rows.roles import coarser as coarser
    from streammetrics.data.rows.roles import coarser_folds as coarser_folds
    from streammetrics.data.rows.roles import labeling as labeling
    from streammetrics.data.rows.roles import labels_of as labels_of
    from streammetrics.data.rows.roles import of_models as of_models
    from streammetrics.data.rows.roles import plain_labels as plain_labels
    from streammetrics.data.rows.roles import several as several
    from streammetrics.data.rows.row_by_row import ADVICE as ADVICE
    from streammetrics.data.rows.row_by_row import require_row_by_row as require_row_by_row
    from streammetrics.data.sources.files import Files as Files
    from streammetrics.data.sources.scans import frames as frames
    from streammetrics.data.sources.streams import Source as Source
    from streammetrics.data.sources.streams import Stream as Stream
    from streammetrics.data.sources.streams import open_files as open_files
    from streammetrics.data.sources.streams import open_stream as open_stream
    from streammetrics.data.sources.streams import paths_of as paths_of
    from streammetrics.data.sources.streams import readable as readable
else:
    __getattr__ = late_names(__name__, __file__)
