#!/bin/sh
# Cycles a minute of the three loops, with rollout and trainer as processes of one core each: servers on core 0, the trainer on core 1. Evaluations are drawn on a second
# server on core 0 where the loop goes on beside them. What is measured is cycles 10 to 30 of the default recipe, evaluations after 10 and 20 included. Needs taskset and a quiet machine.
#
#   sh bench/overlap.sh ./furlong
set -eu
furlong=$(realpath "$1")
dir=$(mktemp -d)
trap 'kill $(cat "$dir"/*.pid) 2>/dev/null; rm -rf "$dir"' EXIT

# serve NAME starts a server on core 0 and waits for its address.
serve() {
	taskset -c 0 "$furlong" serve --threads 1 --port 0 --port-file "$dir/$1" --quiet 2>"$dir/$1.log" &
	echo $! >"$dir/$1.pid"
	while [ ! -s "$dir/$1" ]; do sleep 0.1; done
}

# run LOOP FLAGS trains 30 cycles on core 1 and prints how long cycles 11 to 30 took.
run() {
	loop=$1
	shift
	taskset -c 1 "$furlong" train --threads 1 --loop "$loop" --num-rollout 30 --skip-eval-before-train --save-interval 0 --no-dash --quiet \
		--rollout-url "$(cat "$dir/rollout")" "$@" --run-dir "$dir/$loop" >"$dir/$loop.out" 2>"$dir/$loop.err" || { tail -3 "$dir/$loop.err"; exit 1; }
	grep '"kind":"cycle"' "$dir/$loop/metrics.jsonl" | awk -v loop="$loop" -v sync="${sync:-0}" '
		function value(name) { return match($0, "\"" name "\":[0-9.e-]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : 0 }
		value("cycle") == 10 { from = value("time") }
		value("cycle") > 10 { bubble += value("perf/bubble_ratio") / 20; gen += value("perf/rollout_time") / 20; train += value("perf/train_time") / 20 }
		value("cycle") == 30 { took = value("time") - from }
		END { rate = 1200 / took; printf "%-13s %5.1f cycles a minute, %4.2f of sync; rollout %.2f s, train %.2f s, bubble %.2f\n", loop, rate, sync ? rate / sync : 1, gen, train, bubble
		      print rate > "/dev/stderr" }' 2>"$dir/rate"
}

serve rollout
serve eval
run sync
sync=$(cat "$dir/rate")
run one-step-off --eval-url "$(cat "$dir/eval")"
run fully-async --max-weight-staleness 2 --eval-url "$(cat "$dir/eval")"
