"""Prints the rows of an offline run as JSON lines, read by the client's own schema. The file is LevelDB's log: blocks of 32 KB, records with a header of 7 bytes."""

import glob
import json
import struct
import sys

from wandb.proto import wandb_internal_pb2 as schema

BLOCK = 32768


def records(data):
    at, whole = 7, b""  # the file begins with a header of its own
    while at + 7 <= len(data):
        if BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK
            continue
        _, size, kind = struct.unpack("<IHB", data[at:at + 7])
        if kind == 0:
            return
        whole += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # full, last
            yield whole
            whole = b""


for path in sorted(glob.glob(sys.argv[1] + "/wandb/offline-run-*/*.wandb")):
    with open(path, "rb") as f:
        for raw in records(f.read()):
            record = schema.Record()
            record.ParseFromString(raw)
            if record.HasField("history"):
                print(json.dumps({i.key or ".".join(i.nested_key): json.loads(i.value_json) for i in record.history.item}))
