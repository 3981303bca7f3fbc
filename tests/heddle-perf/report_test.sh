#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# heddle-perf --json and --csv, and the pages that heddle-perf report makes of that and of docs/measurements.
# usage: report_test.sh BIN-FOLDER MEASUREMENTS-FOLDER
set -uo pipefail
perf=$1/heddle-perf measurements=$2 here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
passed=0 failed=0

# check NAME STATUS PATTERN COMMAND...: the command's status and a pattern (grep -E) in its output.
check() {
  local name=$1 wanted=$2 pattern=$3 out status
  shift 3
  out=$(timeout -k 5 120 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" = "$wanted" ] && grep -qE -- "$pattern" <<<"$out"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s instead of %s, or no /%s/ in:\n%s\n' "$name" "$status" "$wanted" "$pattern" "$out"
  fi
}

# Lines that have both placements, one, queues, and no bytes.
measure() {
  check "$1" 0 "values : 0" "$perf" --threads-as-pes 2 "$@" -n 2 -w 0 --json "$1.json" --csv "$1.csv"
}
measure all_reduce -b 0 -e 4096 -f 8
measure all_to_all -b 8 -e 4096 -f 8
measure broadcast -b 8 -e 64 -f 8 -r 1
measure all_gather_v -b 12 -e 12 -C 1
measure rate -b 8 -e 64 -f 8 --queues 2
measure barrier
for operation in all_reduce:5 all_to_all:4 broadcast:2 all_gather_v:1 rate:4; do
  name=${operation%:*}
  check "the CSV of $name" 0 "^${operation#*:} lines$" python3 "$here/check_csv.py" "$name.csv" "$name.json"
done
check "the root" 0 "^broadcast,2,host,8,2,float,none,1," cat broadcast.csv
check "the host's time" 0 ",[0-9.]+,[0-9.]+$" cat all_gather_v.csv
check "no root" 0 "^all_reduce,2,host,8,2,float,sum,-1," cat all_reduce.csv
check "results that are not checked" 0 "not checked" "$perf" all_reduce -b 8 -e 8 -n 1 -w 0 -c 0 --csv unchecked.csv
check "they are empty" 0 "^all_reduce,1,.*,,[^,]+,[^,]+,[^,]+,[^,]+,,,,,$" cat unchecked.csv
check "a CSV that cannot be written" 1 "cannot write /no/such/folder/x.csv" "$perf" all_reduce -b 8 -e 8 -n 1 --csv /no/such/folder/x.csv
check "no space for the table" 1 "cannot write the standard output: No space left" \
  sh -c '"$1" all_reduce -b 8 -e 8 -n 1 >/dev/full' sh "$perf"
check "a CSV for which there is no space" 1 "cannot write /dev/full" "$perf" all_reduce -b 8 -e 8 -n 1 --csv /dev/full
# Results that are wrong.
for operation in all_reduce reduce_scatter reduce broadcast all_gather all_to_all gather scatter sendrecv; do
  check "$operation that leaves a wrong byte" 1 "Out of bounds values : [1-9][0-9]* FAILED" \
    env LD_PRELOAD="$1/../lib/libwrong_results.so" "$perf" -t 2 $operation -b 64 -e 64 -n 1 -w 0
done
check "words that are not direct" 1 "direct:ll went one_shot:ll" "$perf" -t 2 all_gather -b 64K -e 64K -n 1 -w 0 --ways direct:ll
check "one file for two" 2 "both name x" "$perf" all_reduce --json x --csv x
check "one file by two names" 2 "both name ./x" "$perf" all_reduce --json ./x --csv x
check "a file without a name" 2 "names no file" "$perf" all_reduce --json ""
check "a time that is none" 2 "number of seconds" "$perf" all_reduce -T nan
check "a root that there is not" 2 "there are 2 PEs" "$perf" -t 2 reduce -r 5 -b 8 -e 8

# Pages: of files of both kinds. No job is joined, so a launcher that heddle cannot use does not matter.
no_job() { env PMI_RANK=0 PMI_SIZE=2 PMI_FD=7 "$perf" report "$@"; }
export -f no_job
export perf
check "report" 0 "^written to report.html$" bash -c 'no_job all_reduce.json all_to_all.json broadcast.json rate.json barrier.json'
check "its page" 0 "^10 drawings, " python3 "$here/check_page.py" report.html
check "report of measurements" 0 "^written to all.html$" bash -c 'no_job all_reduce.json "$0"/*.json -o all.html' "$measurements"
check "its page" 0 "^[0-9]+ drawings, [0-9]{3,} points" python3 "$here/check_page.py" all.html
check "the page that is kept" 0 "^written" \
  env LC_ALL=C bash -c 'no_job "$0"/*.json -o kept.html && cmp kept.html "$0"/report.html' "$measurements"
check "its peers" 0 "<th>Open MPI</th>" cat all.html
check "help" 0 "FILE" "$perf" report --help
check "heddle-perf's own help names it" 0 "heddle-perf report FILE" "$perf" --help

# Errors name the file, and leave a page that is there as it is.
cp report.html before.html
printf '{"rows": [' >broken.json
printf '{"format": "heddle-tuning-2"}' >other.json
check "broken JSON" 1 "broken.json: is no JSON, expected what" "$perf" report all_reduce.json broken.json
check "other JSON" 1 'other.json: expected what .* an object with "rows"' "$perf" report other.json
check "no such file" 1 "none.json: cannot be read: No such file" "$perf" report none.json
check "a page that cannot be written" 1 "cannot write /no/such/page.html" "$perf" report rate.json -o /no/such/page.html
check "the page over its input" 1 "would replace the measurements" "$perf" report rate.json -o rate.json
check "no files" 2 "FILE" "$perf" report
check "the page as it was" 0 "" cmp report.html before.html

left=$(find . -name '.heddle-perf*')
if [ -z "$left" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED: left behind:\n%s\n' "$left"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
