# Writes reference.tfevents with TensorBoard's own messages and record writer.
# Made with tensorboard 2.21.0 and protobuf 7.36.2: python reference.py
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

with open("reference.tfevents", "wb") as f:
    w = RecordWriter(f)
    w.write(event_pb2.Event(wall_time=1764403200.5, step=0, file_version="brain.Event:2").SerializeToString())
    log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    w.write(event_pb2.Event(wall_time=1764403201, step=300, session_log=log).SerializeToString())
    values = [
        summary_pb2.Summary.Value(tag="rollout/raw_reward", simple_value=0.1),
        summary_pb2.Summary.Value(tag="train/loss", simple_value=float("-inf")),
    ]
    w.write(event_pb2.Event(wall_time=1764403201, step=300, summary=summary_pb2.Summary(value=values)).SerializeToString())
