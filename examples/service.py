"""Serve a model and its metrics. Run it with: uvicorn service:app. Requires Starlette and the `prometheus` extra.

POST /score scores one request, and GET /metrics returns gauges for Prometheus. The service saves its state every minute
and when it stops, and loads it when it starts. It checks requests before it counts them: the first value of a group
column sets the type of the column, so a number as the first source would make the accumulator reject all names.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import prometheus_client
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import streammetrics as sm

FILE, EVERY = Path("scores.state"), 60.0  # seconds
SOURCES = ("app", "web")
acc = sm.Accumulator.load(FILE) if FILE.exists() else sm.predictions(y_score="score", by="source")
registry = prometheus_client.CollectorRegistry()
registry.register(sm.export.PrometheusCollector(lambda: acc.finalize(["rows", "predicted_positive_rate", "median"])))


async def score(request: Request) -> JSONResponse:
    try:
        row = await request.json()
        logit, source = row["logit"], row["source"]
        probability = 1 / (1 + math.exp(-logit))  # the model
    except (ValueError, KeyError, TypeError, OverflowError):
        return JSONResponse({"error": "The body must be JSON with a number as logit and a source."}, 400)
    if source not in SOURCES or math.isnan(probability):
        return JSONResponse({"error": f"source must be one of {', '.join(SOURCES)}, and logit not NaN."}, 400)
    await run_in_threadpool(acc.update, {"score": [probability], "source": [source]})
    return JSONResponse({"score": probability})  # the row is counted at this point


def metrics(_: Request) -> Response:
    return Response(prometheus_client.generate_latest(registry), media_type=prometheus_client.CONTENT_TYPE_LATEST)


async def keep_saving(stopped: asyncio.Event) -> None:
    while not stopped.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), EVERY)
        try:
            await run_in_threadpool(acc.save, FILE)  # atomic
        except sm.StreamMetricsError:
            logging.exception("The state was not saved.")


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    saving = asyncio.create_task(keep_saving(stopped := asyncio.Event()))
    yield  # until the last request has been answered
    stopped.set()
    await saving


app = Starlette(lifespan=lifespan, routes=[Route("/score", score, methods=["POST"]), Route("/metrics", metrics)])
