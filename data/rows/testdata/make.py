"""Writes the Parquet files of this folder: python make.py. Made with pyarrow (version in README.md)."""
import json
import pyarrow as pa
import pyarrow.parquet as pq

message = pa.struct([("content", pa.string()), ("role", pa.string())])
schema = pa.schema([
    ("data_source", pa.string()),
    ("prompt", pa.list_(message)),
    ("reward_model", pa.struct([("ground_truth", pa.string()), ("style", pa.string())])),
    ("extra_info", pa.struct([("index", pa.string()), ("tags", pa.list_(pa.list_(pa.int32())))])),
    ("level", pa.float64()),
    ("rank", pa.uint64()),
    ("flags", pa.map_(pa.string(), pa.bool_())),
    ("raw", pa.binary(4)),
])


def row(i):
    turns = [{"role": "user", "content": f"What is {i} + {i}? <é> \"quoted\"\n\\frac"}]
    if i % 3 == 0:
        turns.insert(0, {"role": "system", "content": "Be short."})
    return {
        "data_source": "made" if i % 5 else None,
        "prompt": turns if i % 7 else [],
        "reward_model": {"ground_truth": str(2 * i), "style": None},
        "extra_info": None if i % 4 == 1 else {"index": str(i), "tags": [[], [i, None], None][: i % 4]},
        "level": [0.5, 34.0, None, 1e30][i % 4],
        "rank": 2**64 - 1 - i,
        "flags": [("a", True), ("b", None)][: i % 3],
        "raw": b"\x00\x01\x02\xff",
    }


rows = [row(i) for i in range(50)]
table = pa.Table.from_pylist(rows, schema=schema)
for name, options in {
    "snappy": dict(compression="snappy", row_group_size=20),
    "zstd-v2": dict(compression="zstd", data_page_version="2.0", row_group_size=10, data_page_size=64),
    "gzip-plain": dict(compression="gzip", use_dictionary=False),
    "none-delta": dict(compression="none", use_dictionary=False, column_encoding={"data_source": "DELTA_LENGTH_BYTE_ARRAY", "rank": "DELTA_BINARY_PACKED"}),
    "refused": dict(compression="none", use_dictionary=False, column_encoding={"data_source": "DELTA_BYTE_ARRAY"}),
}.items():
    pq.write_table(table, name + ".parquet", **options)
none = table.slice(0, 0)
pq.write_table(none, "no-rows.parquet")
with pq.ParquetWriter("empty-group.parquet", schema) as w:
    for part in (table.slice(0, 20), none, table.slice(20)):
        w.write_table(part)
with open("rows.jsonl", "w") as f:
    for r in rows:
        r = dict(r, flags=dict(r["flags"]))
        del r["raw"]
        f.write(json.dumps(r, ensure_ascii=False) + "\n")
