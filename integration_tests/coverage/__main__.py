"""make coverage"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.embedded.session import open_session, running_root
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from dbt_spark_dynamic.errors import DynamicTableError
from integration_tests.conftest import TEST_CONF
from integration_tests.maintained import Maintained

from .batches import batch
from .queries import SCALES, WORK, generated, settled, texts
from .report import NAMES, Result, page

ROOT = Path(__file__).parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make coverage")
    parser.add_argument("--suite", choices=list(NAMES), action="append")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of queries")
    parser.add_argument("--batches", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="coverage-", ignore_cleanup_errors=True) as store:
        open_session(EmbeddedSettings(store=Path(store), catalog="in-memory", conf=dict(TEST_CONF)))
        root = running_root()
        assert root is not None
        for suite in asked.suite or NAMES:
            run(Maintained(root.newSession(), suite), suite, asked.only, asked.batches)
            write(asked.batches)


def run(tables: Maintained, suite: str, only: list[int] | None, batches: int) -> None:
    folder = generated(suite, SCALES[suite])
    models = {n: sql for n, sql in texts(folder).items() if not only or n in only}
    tables.sql(f"CREATE SCHEMA {suite}")
    tables.sql(f"USE {suite}")
    load(tables, folder)
    results = {n: Result() for n in models}
    for number in range(batches + 1):
        if number:
            change(tables, folder, number)
        for n, sql in models.items():
            if not results[n].wrong:
                refresh(tables, f"q{n}", sql, results[n], suite, number)
                keep(suite, {n: results[n]})


def load(tables: Maintained, folder: Path) -> None:
    for file in sorted(folder.glob("*.parquet")):
        tables.sql(
            f"CREATE TABLE {file.stem} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed'='true') "
            f"AS SELECT * FROM parquet.`{file}`"
        )


def change(tables: Maintained, folder: Path, number: int) -> None:
    for file in sorted(folder.glob("*.parquet")):
        schema = tables.session.table(file.stem).schema
        columns = [(f.name, f.dataType.simpleString()) for f in schema.fields]
        rows = tables.session.table(file.stem).count()
        version = tables.version(file.stem)
        for statement in batch(file.stem, columns, number, rows):
            tables.sql(statement.replace("{version}", str(version)))


def refresh(tables: Maintained, name: str, sql: str, result: Result, suite: str, number: int) -> None:
    started = time.monotonic()
    try:
        outcome = tables.refresh(name, sql=sql)
    except DynamicTableError as error:
        result.wrong.append(f"batch {number}: {str(error).splitlines()[0]}")
        return
    if number:
        result.techniques.append(outcome.technique if outcome.code is not Code.NO_CHANGE else "no change")
        if outcome.code is not Code.INCREMENTAL and outcome.reason:
            result.reasons.append(outcome.reason)
    held = bag(tables.sql(f"SELECT * FROM {name}"))
    result.rows = sum(held.values())
    if held != bag(tables.sql(sql)) and held != bag(tables.sql(settled(tables.session, sql))):
        result.wrong.append(f"batch {number}: the table is not its query")
    print(
        f"{NAMES[suite]} {name[1:]}, batch {number}: {outcome.line()}, {time.monotonic() - started:.0f} s", flush=True
    )


def bag(rows: Iterable[Any]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(float(f"{v:.10g}") if isinstance(v, float) else v for v in row) for row in rows)


def keep(suite: str, results: dict[int, Result]) -> None:
    file = WORK / f"{suite}.json"
    known = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps(known | {str(n): asdict(r) for n, r in results.items()}))


def write(batches: int) -> None:
    found = {}
    for suite in NAMES:
        file = WORK / f"{suite}.json"
        if file.is_file():
            found[suite] = {int(n): Result(**r) for n, r in json.loads(file.read_text()).items()}
    (ROOT / "docs/coverage.md").write_text(page(found, batches))


if __name__ == "__main__":
    sys.exit(main())
