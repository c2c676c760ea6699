"""JSON lines to Parquet, for `./tritogen data export SET --out FILE.parquet`. Needs pyarrow.

    python tools/to_parquet.py ROWS.jsonl FILE.parquet
"""

import itertools
import json
import os
import sys

ROWS_AT_ONCE = 4096  # of a row group


def main(source, target):
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        sys.exit(f"Parquet needs pyarrow, which this Python does not have: {sys.executable} -m pip install pyarrow")
    partial = f"{target}.partial"  # complete or absent
    writer = None
    try:
        with open(source, encoding="utf-8") as lines:
            rows = map(json.loads, lines)
            while batch := list(itertools.islice(rows, ROWS_AT_ONCE)):
                # Every row of an export has the same keys with values of the same types: the first rows say which.
                table = pyarrow.Table.from_pylist(batch, schema=writer.schema if writer else None)
                if table.to_pylist() != batch:
                    sys.exit("a row has other columns or types than the first ones")
                writer = writer or pyarrow.parquet.ParquetWriter(partial, table.schema, compression="zstd")
                writer.write_table(table)
        if writer is None:
            sys.exit("there are no rows, and so no columns")
        writer.close()
        os.replace(partial, target)
    except OSError as error:  # a full disk
        sys.exit(str(error))
    finally:
        if os.path.exists(partial):
            os.remove(partial)


if __name__ == "__main__":
    main(*sys.argv[1:])
