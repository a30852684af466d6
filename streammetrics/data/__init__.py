"""Any batch or source as rows by role."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.data.rows.arrays import Pair, Rows, rows_by_model
    from streammetrics.data.rows.arrow import utc_times
    from streammetrics.data.rows.batches import Batch, append, read
    from streammetrics.data.rows.codes import as_written, ascending, encode, find, number
    from streammetrics.data.rows.columns import Reader, require_columns
    from streammetrics.data.rows.folds import FEWEST_FOLDS, FOLDS, MOST_FOLDS, fold, hash_values, identities
    from streammetrics.data.rows.frames import (
        DIGITS,
        common_types,
        concat_groups,
        decoded,
        group_column,
        has_values,
        joint_types,
        stored_types,
        to_frame,
        typed,
        types_of,
    )
    from streammetrics.data.rows.labels import joint
    from streammetrics.data.rows.roles import (
        FOLD,
        LABEL,
        MODEL,
        SEVERAL,
        SINGLE,
        Column,
        Columns,
        Kind,
        Names,
        Roles,
        coarser,
        labeling,
        maps_labels,
        plain_labels,
        several,
    )
    from streammetrics.data.rows.row_by_row import ADVICE, require_row_by_row
    from streammetrics.data.sources.files import Files
    from streammetrics.data.sources.scans import frames
    from streammetrics.data.sources.streams import Source, Stream, open_files, open_stream, paths_of, readable
else:
    __getattr__ = late_names(__name__, __file__)
