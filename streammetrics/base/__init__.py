"""What every wing builds on: columns of frames, arguments, keys, times, text, files, threads."""

from typing import TYPE_CHECKING

from streammetrics.base import forks as forks  # at once: it must know of forks before its first use
from streammetrics.base.public import late_names, public_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.base.arguments import as_float, false_discovery_rate, of_percent, require_level, shown, whole
    from streammetrics.base.disk import LOG, directory, settle, without_scheme
    from streammetrics.base.expressions import by_group, each, shares, without_nan
    from streammetrics.base.foreign import FOREIGN, reason, translated
    from streammetrics.base.forks import new_lock, require_threads
    from streammetrics.base.frame import (
        AHEAD,
        EFFECTIVE_ROWS,
        ENOUGH_ROWS,
        ESTIMATE,
        EXPLAINED,
        KEPT,
        LABELS,
        LIMITS,
        METRIC,
        NEEDED,
        NO_INTERVAL,
        NO_LIMITS,
        OF_LABELS,
        REASONS,
        REMARK,
        RIGHT,
        ROWS,
        ROWS_OF_SHARE,
        SAMPLED,
        STATUS,
        UNDEFINED,
        UNDEFINED_LABELS,
        UNMET,
        VALUE,
        VARIANCE,
        VERDICT,
        VOLUME,
        WHY_OPEN,
        A,
        B,
        PointStatus,
        Status,
        because,
        bounds_status,
        concat_limits,
        enough_rows,
        few_effective,
        hidden,
        joined,
        keys_of,
        of_all_labels,
        of_labels_once,
        outer_limits,
        tidy,
        told_apart,
        visible,
    )
    from streammetrics.base.keys import TEXT_DATES, matching, only, require_free, require_group_columns
    from streammetrics.base.lazy import Lazy, ds, of_extra, pa, pc, pq, to_install
    from streammetrics.base.object_store import (
        AnyPath,
        ObjectPath,
        StorageOptions,
        is_hidden,
        object_path,
        read_file,
    )
    from streammetrics.base.public import publish
    from streammetrics.base.repeated_files import require_each_once
    from streammetrics.base.rounding import ROUNDING, SUM_ROUNDING, above, at_least, at_most, below
    from streammetrics.base.text import (
        FEW,
        LONGEST,
        LONGEST_CELL,
        capitalized,
        cell,
        did_you_mean,
        few,
        named,
        near,
        near_paths,
        rows,
        shortened,
        shown_of,
        uncut,
    )
    from streammetrics.base.text.decimals import (
        Row,
        amount,
        bound,
        bounds,
        compared,
        cutoff,
        in_units,
        interval,
        percentage,
        rounded,
        typical_decimals,
        uncertainty,
        value_text,
        value_texts,
        whole_percentage,
    )
    from streammetrics.base.text.markup import markup, minus
    from streammetrics.base.text.values import (
        beyond_python,
        dates,
        readable,
        supported,
        where,
        without_awkward,
        written,
    )
    from streammetrics.base.threads import STEP, STEPS, start, threaded, uninterrupted
    from streammetrics.base.times import earlier, ends, instant, moment, require_length, truncated
    from streammetrics.base.writing import write_file
else:
    __getattr__ = late_names(__name__, __file__)
