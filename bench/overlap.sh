#!/bin/sh
# Cycles a minute of the three loops, with rollout and trainer as processes of one core each: two servers on one core, one that draws samples and one that evaluates, the trainer on
# the other. In sync the loop evaluates itself, on the first server, and everybody waits; the other loops evaluate on the second beside the run, which yields to the first (nice).
# What is measured is cycles 11 to 30 of the default recipe, the evaluation after 20 included. Needs taskset and a quiet machine with two cores that share none of their units
# (of sibling threads each takes from the other).
#
#   sh bench/overlap.sh ./furlong [CORE OF THE SERVERS] [CORE OF THE TRAINER] [more flags of furlong train]
set -eu
furlong=$(realpath "$1") servers=${2:-0} trainer=${3:-1}
shift; [ $# -eq 0 ] || shift; [ $# -eq 0 ] || shift
dir=$(mktemp -d)
trap 'kill $(cat "$dir"/*.pid) 2>/dev/null; rm -rf "$dir"' EXIT

# serve NAME NICENESS starts a server and waits for its address.
serve() {
	taskset -c "$servers" nice -n "$2" "$furlong" serve --threads 1 --port 0 --port-file "$dir/$1" --quiet 2>"$dir/$1.log" &
	echo $! >"$dir/$1.pid"
	while [ ! -s "$dir/$1" ]; do sleep 0.1; done
}

# run LOOP FLAGS trains 30 cycles and prints how long cycles 11 to 30 took, and where the trainer's time went.
run() {
	loop=$1
	shift
	taskset -c "$trainer" "$furlong" train --threads 1 --loop "$loop" --num-rollout 30 --skip-eval-before-train --save-interval 0 --no-dash --quiet \
		--rollout-url "$(cat "$dir/rollout")" "$@" --run-dir "$dir/$loop" >"$dir/$loop.out" 2>"$dir/$loop.err" || { tail -3 "$dir/$loop.err"; exit 1; }
	grep '"kind":"cycle"' "$dir/$loop/metrics.jsonl" | awk -v loop="$loop" -v sync="${sync:-0}" -v out="$dir/rate" '
		function value(name) { return match($0, "\"" name "\":[0-9.e+-]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : 0 }
		value("cycle") == 10 { from = value("time") }
		value("cycle") > 10 { bubble += value("perf/bubble_ratio") / 20; gen += value("perf/rollout_time") / 20; train += value("perf/train_time") / 20 }
		value("cycle") == 30 { took = value("time") - from }
		END { rate = 1200 / took; print rate >out
		      printf "%-13s %5.1f cycles a minute, %4.2f of sync; rollout %.2f s, train %.2f s, bubble %.2f\n", loop, rate, sync ? rate / sync : 1, gen, train, bubble }'
	[ -z "${OVERLAP_KEEP:-}" ] || cp "$dir/$loop/metrics.jsonl" "$OVERLAP_KEEP/$loop.jsonl"
}

serve rollout 0
serve eval 19
run sync "$@"
sync=$(cat "$dir/rate")
run one-step-off --eval-url "$(cat "$dir/eval")" "$@"
run fully-async --max-weight-staleness 2 --eval-url "$(cat "$dir/eval")" "$@"
