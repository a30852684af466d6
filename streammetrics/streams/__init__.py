"""Read streams into a history. Each row counts once, because the history stores offsets in the commits that add rows.

`Consumer` reads any `Source` whose rows have offsets, such as `RedisStream`. `docs/streams.md` shows one for Kafka.
"""

from streammetrics.streams.consumer import Consumer, Source
from streammetrics.streams.redis import RedisStream
from streammetrics.system.public import publish

__all__ = ["Consumer", "RedisStream", "Source"]

publish(__name__, Consumer, RedisStream, Source)
