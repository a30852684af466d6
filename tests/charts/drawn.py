"""A chart as what it draws: the marks of each panel with their rows, by what they stand for."""

import re

import numpy as np
import polars as pl
import vl_convert
from data import CANDIDATES, CLICKS, candidates, clicks

import streammetrics as sm

HALF_A_PIXEL = 0.5 / 600


def clicked(confidence=None, rows=None, **options):
    """The report of clicks."""
    rows = clicks() if rows is None else rows
    return sm.binary(**CLICKS | options).update(rows).finalize(confidence=confidence)


def of_models(confidence=None, **options):
    """The report of an old and a new model."""
    return sm.binary(**CANDIDATES | options).update(candidates()).finalize(confidence=confidence)


class Drawn:
    """A panel of a chart, from its specification in Vega-Lite."""

    def __init__(self, spec, **_):
        self.spec = spec
        panel, *below = spec.get("vconcat", [spec])
        self.below = Drawn(below[0]) if below else None
        self.x, self.y = panel["encoding"]["x"], panel["encoding"]["y"]
        self.title = spec.get("title", {}).get("text", "")
        self.subtitle = spec.get("title", {}).get("subtitle", "")
        self.caption = spec.get("description", "")
        self.layers = {}
        for layer in panel["layer"]:
            if layer["data"]["values"]:
                self.layers.setdefault(layer["mark"]["style"], layer)

    def to_dict(self):
        return self.spec

    @property
    def texts(self):
        """The texts of the chart as it is drawn, first those along x."""
        return re.findall(">([^<>]+)</text>", vl_convert.vegalite_to_svg(self.spec))

    def rows(self, mark):
        """The rows of a mark, empty without one."""
        values = self.layers[mark]["data"]["values"] if mark in self.layers else []
        return pl.DataFrame(values, infer_schema_length=None)

    def points(self, mark, series=None):
        """The places of the rows of a mark, of one series."""
        rows = self.rows(mark)
        return (rows if series is None else rows.filter(series=series)).select("x", "y").to_numpy()

    @property
    def legend(self):
        """The title of the legend, and the names in it."""
        for layer in self.layers.values():
            color = layer.get("encoding", {}).get("color", {})
            if "field" in color:
                return color["legend"]["title"] or "", color["scale"]["domain"]
        return "", []

    @property
    def series(self):
        return self.legend[1]

    @property
    def names(self):
        """The names along the axis of y."""
        return self.y["scale"]["domain"]

    def marks(self):
        """The marks with the fields of their rows, other than those that order, name, and shape them."""
        hidden = {"series", "shape", "text"}
        return {mark: " ".join(f for f in self.rows(mark).columns if f not in hidden) for mark in self.layers}


def scale(axis):
    """The kind of an axis: that of its scale, or the names along it."""
    return axis["scale"]["type"] if axis["type"] != "nominal" else "names"


def away(points, line):
    """How far each point is from a line, by trying every straight part of it."""
    start, end = line[:-1], line[1:]
    step = end - start
    square = np.maximum((step**2).sum(axis=1), 1e-300)
    along = np.clip(((points[:, None] - start) * step).sum(axis=2) / square, 0, 1)
    return np.sqrt((((start + along[:, :, None] * step) - points[:, None]) ** 2).sum(axis=2)).min(axis=1)
