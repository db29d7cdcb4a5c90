"""The private parts of PySpark that kspec uses: one test for each.

A release of PySpark that changes one of them fails here. Then the upper bound in pyproject.toml
can be raised.
"""

from __future__ import annotations

import inspect

import pyarrow as pa
import pytest
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql.pandas.types import from_arrow_schema

from kspec.spark_check.session import session


@pytest.mark.parametrize("name", ["_active_spark_context", "_gateway", "_jvm"])
def test_the_state_of_a_session_is_in_the_context_class(name: str) -> None:
    assert name in vars(SparkContext)


def test_the_gateway_takes_what_its_process_is_started_with() -> None:
    assert list(inspect.signature(launch_gateway).parameters) == ["conf", "popen_kwargs"]


def test_a_context_takes_a_gateway_that_is_running() -> None:
    taken = list(inspect.signature(SparkContext._ensure_initialized).parameters)
    assert taken == ["instance", "gateway", "conf"]


def test_an_arrow_schema_becomes_one_of_spark() -> None:
    schema = from_arrow_schema(pa.schema([("shard", pa.int32()), ("codes", pa.binary())]))
    assert schema.simpleString() == "struct<shard:int,codes:binary>"


@pytest.mark.slow
@pytest.mark.other_software
def test_a_running_context_counts_executors_and_has_a_list_of_what_it_sends() -> None:
    with session("local[1]", "kspec: private parts") as spark:
        context = spark.sparkContext
        assert SparkContext._active_spark_context is context
        assert SparkContext._gateway is not None
        assert SparkContext._gateway.proc.poll() is None
        assert len(context._jsc.sc().statusTracker().getExecutorInfos()) == 1
        assert isinstance(context._python_includes, list)
    assert SparkContext._active_spark_context is None
    assert SparkContext._gateway is None
