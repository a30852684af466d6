"""Files, states, and pages in an object store, which give what local ones give."""

import gzip
import json
import subprocess
import sys
import traceback
from functools import partial

import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import main
from tests.data import CLICKS, clicks

pytestmark = pytest.mark.engine

TASK = sm.binary(by="country", **CLICKS)
COLUMNS = ["--y-true", "clicked", "--y-score", "score", "--by", "country"]


def _compressed(write, rows, path):
    plain = path.with_suffix("")
    write(rows, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


def _deleted(rows, path):
    rows.write_delta(path)
    rows.head(1_000).write_delta(path, mode="overwrite")


def _by_country(rows, path):
    for [country], part in rows.partition_by("country", include_key=False, as_dict=True).items():
        folder = path / f"country={country}"
        folder.mkdir()
        part.write_parquet(folder / "part-0.parquet")


DENIED = """
from http.server import BaseHTTPRequestHandler, HTTPServer

class Denied(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<Error><Code>SignatureDoesNotMatch</Code></Error>"
        self.send_response(403)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_HEAD = do_POST = do_GET

server = HTTPServer(("127.0.0.1", 0), Denied)
print(server.server_port, flush=True)
server.serve_forever()
"""
KILLED = """
import json, os, sys
from streammetrics.base import object_path

path = object_path("s3://scores/whole.state", json.loads(sys.argv[1]))

file = path.system.open_output_stream(path.key, compression=None, buffer_size=1_000)
file.write(b"half of a state")
file.flush()
os._exit(9)
"""
PARQUET, CSV, NDJSON = pl.DataFrame.write_parquet, pl.DataFrame.write_csv, pl.DataFrame.write_ndjson
LAYOUTS = {
    "a file": ({"a.parquet": PARQUET}, "a.parquet"),
    "a folder": ({"a.parquet": PARQUET, "b/b.parquet": PARQUET, "_tmp/c.parquet": PARQUET, ".d.parquet": PARQUET}, ""),
    "a glob": ({"a.parquet": PARQUET, "b.parquet": PARQUET, "b.csv": CSV, "c/b.parquet": PARQUET}, "*.parquet"),
    "a deep glob": ({"a.parquet": PARQUET, "b/c/b.parquet": PARQUET, "b/_c/b.parquet": PARQUET}, "**/*.parquet"),
    "folders in a glob": ({"day=1/a.parquet": PARQUET, "day=2/b.parquet": PARQUET, "x/b.csv": CSV}, "day=*/*"),
    "a hidden file": ({"_a.parquet": PARQUET}, "_a.parquet"),
    "partition columns": ({"": _by_country}, ""),
    "one partition": ({"": _by_country}, "country=DE"),
    "CSV": ({"a.csv": CSV}, "a.csv"),
    "compressed CSV": ({"a.csv.gz": partial(_compressed, CSV)}, "*.csv.gz"),
    "compressed NDJSON": ({"a.ndjson.gz": partial(_compressed, NDJSON)}, "a.ndjson.gz"),
    "Arrow IPC": ({"a.arrow": pl.DataFrame.write_ipc}, "a.arrow"),
    "an IPC stream": ({"a.arrows": pl.DataFrame.write_ipc_stream}, "a.arrows"),
    "a Delta table": ({"table": _deleted}, "table"),
    "a Delta table in a folder": ({"x/table": _deleted}, "x"),
    "awkward names": ({"sp ace/é%20 [1]+&#.parquet": PARQUET, "sp ace/100%.parquet": PARQUET}, "sp ace/"),
    "an awkward name": ({"sp ace/é%20 [1]+&#?.parquet": PARQUET}, "sp ace/é%20 [1]+&#?.parquet"),
    "a file without a suffix": ({"part-0": PARQUET}, "part-0"),
}


@pytest.fixture(scope="module")
def bucket(options):
    """A client, the URI of a new bucket, and its name."""
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "s3",
        endpoint_url=options["AWS_ENDPOINT_URL"],
        aws_access_key_id="any",
        aws_secret_access_key="any",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="scores")
    for key in ("table/a.parquet", "table/_delta_log/00000000000000000000.json"):
        client.put_object(Bucket="scores", Key=key)
    return client


def _upload(client, folder, prefix):
    for path in folder.rglob("*"):
        if path.is_file():
            client.upload_file(str(path), "scores", f"{prefix}/{path.relative_to(folder)}")


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_the_state_is_that_of_local_files_bit_for_bit(layout, tmp_path, bucket, options):
    files, source = LAYOUTS[layout]
    for name, write in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(clicks(), path)
    prefix = layout.replace(" ", "-")
    _upload(bucket, tmp_path, prefix)
    local = sm.accumulate(f"{tmp_path}/{source}", TASK)
    stored = sm.accumulate(f"s3://scores/{prefix}/{source}", TASK, storage_options=options)
    assert stored.to_bytes() == local.to_bytes()
    assert local.seen > 0


@pytest.fixture
def environment(monkeypatch, options):
    for name, value in options.items():
        monkeypatch.setenv(name, value)


def test_states_pages_receipts_and_rules(tmp_path, bucket, options, environment):
    acc = TASK.empty().update(clicks())
    for name in ("a.state", "b.arrow"):
        acc.save(f"s3://scores/states/{name}", storage_options=options)
        acc.save(tmp_path / name)
        stored = bucket.get_object(Bucket="scores", Key=f"states/{name}")["Body"].read()
        assert stored == (tmp_path / name).read_bytes()
    one = sm.Accumulator.load("s3://scores/states/a.state", storage_options=options)
    assert one.to_bytes() == acc.to_bytes()
    assert sm.Accumulator.load("s3://scores/states").to_bytes() == sm.Accumulator.load(tmp_path).to_bytes()
    report = acc.finalize()
    report.save_html("s3://scores/page.html")
    assert b"<html" in bucket.get_object(Bucket="scores", Key="page.html")["Body"].read()
    clicks().write_parquet(tmp_path / "rows.parquet")
    bucket.upload_file(str(tmp_path / "rows.parquet"), "scores", "rows.parquet")
    rows = sm.binary(fingerprint=True, **CLICKS).update(clicks())
    rows.receipt(["roc_auc"]).save("s3://scores/receipt.json")
    bucket.put_object(Bucket="scores", Key="rules.toml", Body=b"[[rule]]\nrequire = 'roc_auc >= 0.8'\nover = '7d'")
    assert [rule.require for rule in sm.read_rules("s3://scores/rules.toml")] == ["roc_auc >= 0.8"]
    assert sm.verify("s3://scores/receipt.json", "s3://scores/rows.parquet", storage_options=options).identical


def test_a_state_of_a_process_that_was_killed_is_not_there(bucket, options):
    acc = TASK.empty().update(clicks())
    acc.save("s3://scores/whole.state", storage_options=options)
    killed = subprocess.run([sys.executable, "-c", KILLED, json.dumps(options)], timeout=60)
    assert killed.returncode == 9
    assert sm.Accumulator.load("s3://scores/whole.state", storage_options=options).to_bytes() == acc.to_bytes()


def test_commands(tmp_path, bucket, options):
    clicks().write_parquet(tmp_path / "rows.parquet")
    bucket.upload_file(str(tmp_path / "rows.parquet"), "scores", "command/rows.parquet")
    stored = [part for key, value in options.items() for part in ("--storage-option", f"{key}={value}")]

    def run(*command):
        result = CliRunner().invoke(main, [*command, *stored])
        assert result.exit_code == 0, result.output
        return result.output

    run("evaluate", "s3://scores/command/*.parquet", *COLUMNS, "--save", "s3://scores/command/a.state")
    acc = TASK.empty().update(clicks())
    acc.save("s3://scores/command/c.state", storage_options=options)
    run("merge", "s3://scores/command/a.state", "s3://scores/command/c.state", "-o", "s3://scores/command/b.state")
    state = sm.Accumulator.load("s3://scores/command/b.state", storage_options=options)
    assert state.to_bytes() == sm.merge([acc, acc]).to_bytes()
    assert "roc_auc" in run("show", "s3://scores/command/a.state")
    by_day = sm.binary(by="day", **CLICKS).update(clicks())
    by_day.save("s3://scores/command/day.state", storage_options=options)
    assert "added" in run("store", "append", "s3://scores/history", "s3://scores/command/day.state")
    assert "2026-01-10" in run("store", "windows", "s3://scores/history")


@pytest.fixture(scope="module")
def denied(options):
    """Options of a server that answers as S3 does to a wrong signature."""
    server = subprocess.Popen(
        [sys.executable, "-c", DENIED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield {**options, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(server.stdout.readline())}"}
    finally:
        server.terminate()
        server.wait(timeout=30)


KEY = "SECRET/KEY"
REFUSED = {
    "a bucket that is missing": ("s3://no-bucket/a.parquet", "404 Not Found NoSuchBucket"),
    "a file that is missing": ("s3://scores/gone.parquet", "No file matches 's3://scores/gone.parquet'"),
    "a glob without a match": ("s3://scores/gone/*.parquet", "No file matches 's3://scores/gone/*.parquet'"),
    "a glob in a table": ("s3://scores/table/*.parquet", "the Delta table"),
    "a file of a table": ("s3://scores/table/a.parquet", "the Delta table"),
    "another scheme": (f"https://host/a.csv?sig={KEY}", "https"),
    "credentials in the URI": (f"s3://user:{KEY}@scores/a.csv", "storage_options="),
}


@pytest.mark.parametrize("fault", list(REFUSED))
def test_errors_name_the_path_and_no_secret(fault, bucket, options):
    source, text = REFUSED[fault]
    with pytest.raises(sm.errors.SourceError) as refused:
        sm.accumulate(source, TASK, storage_options={**options, "AWS_SECRET_ACCESS_KEY": KEY})
    assert text in str(refused.value)
    assert KEY not in "".join(traceback.format_exception(refused.value))


def test_wrong_credentials(denied, bucket, options):
    acc = TASK.empty().update(clicks())
    denied = {**denied, "AWS_SECRET_ACCESS_KEY": KEY}
    for call, kind in (
        (lambda: sm.accumulate("s3://scores/a.parquet", TASK, storage_options=denied), sm.errors.SourceError),
        (lambda: sm.Accumulator.load("s3://scores/a.state", storage_options=denied), sm.errors.StateError),
        (lambda: acc.save("s3://scores/a.state", storage_options=denied), sm.errors.StateError),
    ):
        with pytest.raises(kind, match=r"s3://scores/a\..*403 Forbidden.*the credentials") as refused:
            call()
        assert KEY not in "".join(traceback.format_exception(refused.value))
