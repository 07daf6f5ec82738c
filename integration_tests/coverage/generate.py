"""Tables and query texts of a benchmark, written by the DuckDB whose wheel carries its generator (1.1.3; later ones
fetch it from a host of their own). Run by an interpreter of its own: python generate.py tpch|tpcds SCALE FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

GENERATE = {"tpch": "CALL dbgen(sf={})", "tpcds": "CALL dsdgen(sf={})"}

# A dimension with every combination of its attributes, 1.9 million rows at any scale: those that facts speak of.
SPOKEN_OF = """
    DELETE FROM customer_demographics WHERE cd_demo_sk NOT IN (
        SELECT c_current_cdemo_sk FROM customer WHERE c_current_cdemo_sk IS NOT NULL
        UNION SELECT ss_cdemo_sk FROM store_sales WHERE ss_cdemo_sk IS NOT NULL
        UNION SELECT cs_bill_cdemo_sk FROM catalog_sales WHERE cs_bill_cdemo_sk IS NOT NULL
        UNION SELECT ws_bill_cdemo_sk FROM web_sales WHERE ws_bill_cdemo_sk IS NOT NULL)
"""


def main(suite: str, scale: str, folder: Path) -> None:
    connection = duckdb.connect()
    connection.execute(f"LOAD {suite}")
    connection.execute(GENERATE[suite].format(float(scale)))
    if suite == "tpcds":
        connection.execute(SPOKEN_OF)
    folder.mkdir(parents=True, exist_ok=True)
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
    texts = connection.execute(f"FROM {suite}_queries()").fetchall()
    (folder / "queries.json").write_text(json.dumps({int(n): text for n, text in texts}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
