"""Gives the rows of a run's metrics.jsonl to the client of Weights & Biases: those that are there, those that come, and the rest once stdin ends."""

import hashlib
import json
import math
import os
import sys
import threading
import time


def say(**what):
    print(json.dumps(what), flush=True)


def remembered(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def remember(path, what):
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump(what, f)
    os.replace(path + ".part", path)


def settings(directory):
    """What config.json says the run is, by name."""
    try:
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as f:
            found = json.load(f).get("settings", {})
        return {name: s.get("value") if isinstance(s, dict) else s for name, s in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def row(line):
    """The figures of a line; None where it holds none."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("cycle"), int):
        return None
    special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    found = {k: special.get(v, v) if isinstance(v, str) else v for k, v in found.items()}
    return {k: v for k, v in found.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}


def follow(path, offset, ended, give, note):
    """Gives each whole line after offset, until the run has ended and nothing is left."""
    while True:
        last = ended.is_set()
        try:
            with open(path, "rb") as f:
                f.seek(offset)
                for line in f:
                    if not line.endswith(b"\n"):
                        break
                    offset += len(line)
                    figures = row(line)
                    if figures:
                        give(figures)
            note(offset)
        except FileNotFoundError:
            pass
        if last:
            return
        ended.wait(1.0)


def main():
    start = json.loads(sys.stdin.readline())
    try:
        import wandb
    except ImportError:
        say(error=f"{sys.executable} has no module wandb, so nothing is written for it: {sys.executable} -m pip install wandb")
        return 1
    place = os.path.join(start["run"], "wandb.json")
    had = remembered(place)
    run_id = start.get("id") or had.get("id") or hashlib.sha256(f"{os.path.abspath(start['run'])} {time.time_ns()}".encode()).hexdigest()[:8]
    if start.get("host"):
        os.environ["WANDB_BASE_URL"] = start["host"]
    name = f"{start['name']}-{run_id}" if start["suffix"] else start["name"]
    quiet = wandb.Settings(silent=True, console="off", disable_git=True, x_disable_stats=True)
    try:
        run = wandb.init(mode=start["mode"], dir=start["dir"], id=run_id, name=name, project=start["project"], group=start.get("group"), entity=start.get("team"),
                         config=settings(start["run"]), resume="allow" if start["mode"] == "online" else None, settings=quiet)
    except Exception as e:  # whatever the client raises, the run goes on without it
        say(error=f"{type(e).__name__}: {e}")
        return 1
    run.define_metric("cycle")
    run.define_metric("*", step_metric="cycle")
    offset = had["offset"] if had.get("id") == run_id and isinstance(had.get("offset"), int) else 0
    say(where=run.url if start["mode"] == "online" else run.dir)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    follow(os.path.join(start["run"], "metrics.jsonl"), offset, ended, run.log, lambda at: remember(place, {"id": run_id, "offset": at}))
    run.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
