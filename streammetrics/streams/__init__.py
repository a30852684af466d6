"""Read streams into a history: each row counts once, since the history stores the offset of its source with the rows.

`Consumer` reads any `Source` whose rows have offsets. `RedisStream` is one; `docs/streams.md` shows one for Kafka.
"""

from streammetrics.streams.consumer import Consumer, Source
from streammetrics.streams.redis import RedisStream
from streammetrics.system.public import publish

__all__ = ["Consumer", "RedisStream", "Source"]

publish(__name__, Consumer, RedisStream, Source)
