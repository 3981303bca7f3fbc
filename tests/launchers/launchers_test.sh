#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# PEs as processes under heddle-run and mpirun: what they compute, what happens when one dies, and what is left.
# usage: launchers_test.sh BIN-FOLDER
set -uo pipefail
bin=$1 here=$(cd "$(dirname "$0")" && pwd)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
scratch=$(mktemp -d)
# The second tells leftovers.py which processes are this test's.
export TMPDIR=$scratch LAUNCHER_TEST=$scratch
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# check NAME STATUS [PATTERN] COMMAND...: the command's status and a pattern (grep -E) in its output.
check() {
  local name=$1 wanted=$2 pattern=$3 out status
  shift 3
  out=$(timeout -k 5 120 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" = "$wanted" ] && grep -qE "$pattern" <<<"$out"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s instead of %s, or no /%s/ in:\n%s\n' "$name" "$status" "$wanted" "$pattern" "$out"
  fi
}

# What the programs compute, as processes: every algorithm and protocol, every type and operation, which reductions_test goes through
# on one to eight of them; heddle-perf's own checks of the same on three. Of floats 17, 629 and 23273.
right="Out of bounds values : 0 OK"
run=("$bin/heddle-run" --bind-to none -n)
perf=$bin/heddle-perf
for n in 1 2 3 4 5 6 7 8; do
  check "reductions on $n PEs" 0 "Status: SUCCESS" env HEDDLE_DEV_TEST_JOB=$n "${run[@]}" $n "$bin/reductions_test" --no-colors
done
all=(-b 68 -e 3000 -f 37 -d all -o all -w 0)
longer=(-b 93092 -e 93092 -d all -o sum -n 1 -w 0)
scattering=one_shot:ll,one_shot:simple,two_shot:simple,ring:ll,ring:ll128,ring:simple
reducing=$scattering,tree:ll
every_way=$reducing,one_shot:ll128,tree:ll128,tree:simple
check "all_reduce on 3 PEs" 0 "$right" "${run[@]}" 3 "$perf" all_reduce --ways $every_way "${all[@]}" -n 2
check "all_reduce on 3 PEs, longer" 0 "$right" "${run[@]}" 3 "$perf" all_reduce --ways $every_way "${longer[@]}"
for collective in reduce_scatter reduce broadcast all_gather all_to_all gather scatter sendrecv; do
  case $collective in
    reduce_scatter) ways=$scattering ;;
    reduce) ways=$reducing ;;
    *) ways=one_shot:ll,one_shot:simple,direct ;;
  esac
  check "$collective on 3 PEs" 0 "$right" "${run[@]}" 3 "$perf" $collective --ways $ways "${all[@]}" -n 1 -r 1
  check "$collective on 3 PEs, longer" 0 "$right" "${run[@]}" 3 "$perf" $collective --ways $ways "${longer[@]}" -r 1
done
# Exchanges of more PEs than processors.
for collective in broadcast all_gather all_to_all gather scatter sendrecv; do
  check "$collective on 8 PEs" 0 "$right" \
    "${run[@]}" 8 "$perf" $collective --ways one_shot:ll,one_shot:simple,direct -b 68 -e 100000 -f 37 -w 0 -n 1 -r 1
done
check "a table for each way" 0 "^10$" sh -c '"$@" | grep -c "^# by "' sh \
  "${run[@]}" 2 "$perf" all_reduce --ways $every_way -b 8 -e 8 -n 1
check "a way that there is not" 1 "two_shot with .*ll: it has the protocol simple alone" \
  "${run[@]}" 2 "$perf" all_reduce --ways two_shot:ll -b 8 -e 8
check "a way by the environment" 0 '"algo": "tree", "proto": "ll"' sh -c \
  '"$@" --json "$0" >/dev/null && tr -d "\n" <"$0" | tr -s " " && rm "$0"' "$scratch/way.json" \
  "${run[@]}" 2 -x HEDDLE_ALGO=tree -x HEDDLE_PROTO=ll "$perf" all_reduce -b 8 -e 8 -n 1
for buffers in symmetric private; do
  check "large $buffers buffers" 0 "$right" "$bin/heddle-run" --bind-to none -n 3 "$bin/heddle-perf" \
    all_reduce -b 1000000 -e 9000000 -f 9 -n 1 -w 0 --buffers $buffers
done
check "flags of 8 bits" 0 "values : 0 OK" "$bin/heddle-run" --bind-to none -n 3 -x HEDDLE_EPOCH_BITS=8 -x HEDDLE_PROTO=ll \
  "$bin/heddle-perf" all_reduce -b 8 -e 4096 -n 1000
check "blocks of threads and channels" 0 "values : 0 OK" "$bin/heddle-run" --bind-to none -n 2 -x HEDDLE_CHANNELS=3 \
  -x HEDDLE_BLOCK_THREADS=2 "$bin/heddle-perf" all_reduce -b 8 -e 100000 -f 50 -n 2 -w 0
for operation in put get signal atomic rate; do
  check "$operation" 0 "$right" "$bin/heddle-run" --bind-to none -n 2 "$bin/heddle-perf" $operation -b 1 -e 70001 -f 41 -n 5
done
check "barrier" 0 "values : 0 \(not checked\)" "$bin/heddle-run" --bind-to none -n 2 "$bin/heddle-perf" barrier -n 5
check "train_digits" 0 "the same within rounding" "$bin/heddle-run" --bind-to none -n 3 "$bin/train_digits" --check --epochs 3
check "gemm_reduce_scatter" 0 "both right" "$bin/heddle-run" --bind-to none -n 3 "$bin/gemm_reduce_scatter" --m 384 --n 128 --k 65 --blocks 2
check "jacobi" 0 "right" "$bin/heddle-run" --bind-to none -n 4 "$bin/jacobi" --n 65 --steps 50 --threads 2
check "hello" 0 "PE 0 of 2 was sent 101" "$bin/heddle-run" --bind-to none -n 2 "$bin/hello"
check "heddle-info" 0 "path: mapped" "$bin/heddle-run" --bind-to none -n 2 "$bin/heddle-info"
check "heddle-info, of a variable that is no UTF-8" 0 "HEDDLE_SOCKET_IFNAME +eth" env HEDDLE_SOCKET_IFNAME=$'eth\xff' "$bin/heddle-info" --no-job

# The bootstrap conforms under heddle-run and mpirun, deaths included: all that live on are right. (mpirun ends them.)
ranks=$here/../bootstrap/count_ranks.sh
for case in "names are filled in:3:0" "gathers equal parts:5:0" "gathers a megabyte each:5:0" "gathers parts of differing sizes:8:0" \
  "barrier waits for the last:8:0" "a hundred rounds stay in step:5:0" "deadline names the missing rank:2:0" \
  "leaving is no loss:3:0" "the last rank dies:5:1" "rank zero dies:5:1" "every death is told once:4:2"; do
  IFS=: read -r name size deaths <<<"$case"
  all_right="^$((size - deaths)) ranks right, 0 failed$"
  check "heddle-run: $name" $((deaths > 0 ? 137 : 0)) "$all_right" \
    "$ranks" "$bin/heddle-run" --bind-to none --keep-going -n "$size" "$bin/launched_rank" "$size" "$name"
  if [ "$deaths" = 0 ] && command -v mpirun.openmpi >/dev/null; then
    check "mpirun: $name" 0 "$all_right" "$ranks" mpirun.openmpi --oversubscribe -n "$size" "$bin/launched_rank" "$size" "$name"
  fi
done

# heddle-run itself.
check "tagged output" 0 '^\[1\] one$' "$bin/heddle-run" -n 2 --bind-to none --tag-output -- sh -c '[ $PMIX_RANK = 1 ] && echo one || echo zero'
# Both streams of three PEs in one file; lines that a pipe takes at once, and longer ones.
check "tagged lines stay whole" 0 "^12120 lines, 0 torn$" bash -c '"$0" -n 3 --bind-to none --tag-output -- bash -c "
    yes short-\$PMIX_RANK-\$(printf %060d 0)-end | head -n 4000 & line=\$(printf %09000d 0)
    for i in {1..40}; do echo long-\$PMIX_RANK-\$line-end >&2; done; wait" >"$1" 2>&1
  echo "$(wc -l <"$1") lines, $(grep -cvE "^\[([012])\] (short-\\1-0+|long-\\1-0+)-end$" "$1") torn"; rm "$1"' \
  "$bin/heddle-run" "$scratch/tagged"
check "status of the failing PE" 7 "PE 1 ended with status 7; ending the others" "$bin/heddle-run" -n 2 --bind-to none -- sh -c '[ $PMIX_RANK = 1 ] && exit 7; sleep 60'
check "a message does not outlast the job" 7 "PE 0 ended with status 7" timeout 10 "$bin/heddle-run" -n 1 --grace 60 sh -c 'exit 7'
# Of a killed PE, and of no other process.
check "files in /dev/shm of a killed PE" 0 "^0 1$" sh -c 'killed=$("$0" -n 1 --bind-to none -- sh -c "echo \$\$; : >/dev/shm/\$\$:0:0
  : >/dev/shm/\$\$0:0:0; kill -9 \$\$" | head -1)
  echo $(ls /dev/shm | grep -c "^$killed:") $(ls /dev/shm | grep -c "^${killed}0:"); rm -f "/dev/shm/${killed}0:0:0"' "$bin/heddle-run"
check "status of a killed PE" 137 "PE 0 was killed by signal 9" "$bin/heddle-run" -n 2 --bind-to none -- sh -c '[ $PMIX_RANK = 0 ] && kill -9 $$; sleep 60'
for status in 3:3 256:1 259:3; do
  check "an abort with status ${status%:*}" ${status#*:} "PE 0 aborts the job with status ${status%:*}: out of ink" \
    "$bin/heddle-run" -n 1 "$bin/abort_pe" ${status%:*}
done
check "no such program" 127 "was not found" "$bin/heddle-run" -n 2 no-such-program
check "bad options" 2 "." "$bin/heddle-run" -n 0 true
for number in 010 0x2 2.0 +2 "" 65537 99999999999; do
  check "a number of PEs that is none: $number" 2 "1 to 65536" "$bin/heddle-run" -n "$number" true
done
check "-np, as mpirun takes it" 0 "^2$" sh -c '"$0" --bind-to none -np 2 -- echo -np | grep -cx -- -np' "$bin/heddle-run"
check "an option that there is not" 2 "timout" "$bin/heddle-run" -n 2 --timout 5 true
check "an option's value that is none" 2 "seconds" "$bin/heddle-run" -n 2 --timeout nan true
check "options of the program" 0 "^-n.3.--tag-output.--.$" "$bin/heddle-run" -n1 -- sh -c 'printf %s. "$@"; echo' sh -n 3 --tag-output --
check "options of the program, without --" 0 "^x --timeout=3$" "$bin/heddle-run" -n 1 --grace=2 echo x --timeout=3
check "output that a daemon holds" 0 "left behind" timeout 8 "$bin/heddle-run" -n 1 --tag-output --grace 0.2 sh -c \
  'mkfifo "$TMPDIR/away"; setsid sh -c "echo \$\$ >\"\$TMPDIR/away\"; exec sleep 60" & read -r daemon <"$TMPDIR/away"; echo $daemon >"$TMPDIR/daemon"'
kill "$(cat "$scratch/daemon")"
rm "$scratch/away" "$scratch/daemon"
check "output that nobody reads" 124 "has run for" timeout 5 bash -c '"$0" -n 1 --tag-output --timeout 0.3 --grace 0.2 yes | (sleep 2; head -1 >/dev/null); exit ${PIPESTATUS[0]}' "$bin/heddle-run"
# The PEs' output through heddle-run, and beside its own messages.
for sharing in "--tag-output" ""; do
  check "output of several that nobody reads $sharing" 0 "^124$" timeout 10 bash -c 'ended=$(mktemp)
    { "$0" -n 3 $1 --timeout 0.3 --grace 0.2 yes 2>&1; echo $? >"$ended"; } |
      { for i in {1..80}; do [ ! -s "$ended" ] || break; sleep 0.1; done; cat "$ended" >&2; rm "$ended"; }' "$bin/heddle-run" "$sharing"
done
# What the PEs have printed is not lost on a slow reader, whatever holds their end; nor read on when the reader is gone.
check "tagged output whose reader pauses" 0 "^12000$" timeout 20 bash -c \
  '"$0" -n 1 --tag-output --grace 0.2 seq 12000 | (sleep 1; wc -l); exit ${PIPESTATUS[0]}' "$bin/heddle-run"
check "tagged output that is held, whose reader pauses" 0 "^12000$" timeout 20 bash -c \
  '"$0" -n 1 --tag-output --grace 0.2 sh -c "seq 12000; setsid sleep 3 & sleep 0.2" | (sleep 1; wc -l); exit ${PIPESTATUS[0]}' "$bin/heddle-run"
check "a signal while nobody reads" 143 "is not read; the rest of it is lost" timeout 20 bash -c \
  'mkfifo "$TMPDIR/slow"; sleep 20 <"$TMPDIR/slow" &
  "$0" -n 1 --tag-output --grace 0.2 sh -c "seq 12000; : >\"\$TMPDIR/printed\"" >"$TMPDIR/slow" & job=$!
  until [ -e "$TMPDIR/printed" ]; do sleep 0.1; done
  kill $job; wait $job; ended=$?; kill %1; rm "$TMPDIR/slow" "$TMPDIR/printed"; exit $ended' "$bin/heddle-run"
check "tagged output whose reader is gone" 141 "PE 0 was killed by signal 13" timeout 8 bash -c \
  '"$0" -n 1 --tag-output yes | head -1; exit ${PIPESTATUS[0]}' "$bin/heddle-run"
check "output whose reader is gone" 141 "^line$" bash -c '"$0" -n 2 --bind-to none sh -c "while :; do echo line; done" 2>&1 | head -1; exit ${PIPESTATUS[0]}' "$bin/heddle-run"
check "output for which there is no space" 1 "printed could not be written: No space left" \
  bash -c '"$0" -n 2 --bind-to none --tag-output echo line >/dev/full' "$bin/heddle-run"
check "PEs that there are no descriptors for" 0 "ended with 1, leaving 0" bash -c 'ulimit -n 40
  "$0" -n 30 --tag-output --bind-to none sh -c "sleep 61.$$ & wait"; ended=$?
  left() { grep -lzx "61[.]$$" /proc/[0-9]*/cmdline 2>/dev/null | wc -l; }
  for i in {1..30}; do [ "$(left)" != 0 ] || break; sleep 0.1; done
  echo "ended with $ended, leaving $(left)"' "$bin/heddle-run"
# As a user of so many processes and threads; root has no limit.
another=(setpriv --reuid 60017 --regid 60017 --clear-groups)
if "${another[@]}" "$bin/heddle-run" --version >/dev/null 2>&1; then
  for limit in 1 2 3 5 7; do
    check "no more than $limit processes and threads" 1 "^heddle-run: asked for a .*; raise ulimit -u" env TMPDIR=/tmp \
      "${another[@]}" bash -c 'ulimit -u '$limit'; exec "$0" -n 8 --bind-to none sleep 60' "$bin/heddle-run"
  done
else
  echo "no other user may be taken, or reads $bin: limits of processes are not tried"
fi
check "a PMIx server that does not end" 5 "^out$" timeout 30 env LD_PRELOAD="$bin/../lib/libstuck_finalize.so" \
  "$bin/heddle-run" -n 2 --bind-to none sh -c 'echo out; exit 5'
check "an init that is mended and tried again" 0 "^joined$" "$bin/heddle-run" -n 2 --bind-to none "$bin/retrying_pe" mended
check "an init after one that has failed halfway" 1 "a process cannot join any more then" \
  env HEDDLE_INIT_TIMEOUT=1 "$bin/heddle-run" -n 2 --bind-to none "$bin/retrying_pe" late
for had in 0:PMIx_Init 2:PMIx_Finalize 2:"serve the bootstrap" 3:PMIx_Finalize; do
  check "no thread after $had" 1 "asked for a thread to (call )?${had#*:}: .*; raise ulimit -u" \
    "$bin/heddle-run" -n 2 --bind-to none -x NO_THREAD_AFTER="${had%%:*}" -x LD_PRELOAD="$bin/../lib/libno_thread.so" "$bin/lifecycle_pe"
done
check "timeout" 124 "has run for" "$bin/heddle-run" -n 2 --timeout 0.3 sleep 60
check "variables" 0 "^blue$" "$bin/heddle-run" -n 1 -x COLOUR=blue sh -c 'echo $COLOUR'
check "-x before an inherited variable" 0 "^blue$" env COLOUR=red "$bin/heddle-run" -n 1 -x COLOUR=green -x COLOUR=blue printenv COLOUR
check "PMIx's own variables before -x" 0 "^0$" "$bin/heddle-run" -n 1 -x PMIX_RANK=7 printenv PMIX_RANK
check "-x that names no variable" 2 "names no variable: =3" "$bin/heddle-run" -n 1 -x =3 true
check "-x of a variable that is not set" 1 "give -x NO_SUCH_COLOUR=VALUE" "$bin/heddle-run" -n 1 -x NO_SUCH_COLOUR true
check "forwarded signal" 143 "caught" "$bin/heddle-run" -n 1 bash -c 'trap "echo caught; exit 143" TERM; kill $PPID; while :; do sleep 0.1; done'
check "a signal that is ignored, as under nohup" 0 "^finished$" bash -c "trap '' HUP; "'exec "$0" -n 1 sh -c "kill -HUP \$PPID; sleep 0.2; echo finished"' "$bin/heddle-run"
check "ends of PEs, with SIGCHLD ignored" 7 "PE 0 ended with status 7" timeout -s KILL 10 env --ignore-signal=CHLD "$bin/heddle-run" -n 1 sh -c "exit 7"
if unshare -u true 2>/dev/null; then
  # LENGTH COMMAND...: on a machine whose name has so many characters.
  named='import os,socket,sys; socket.sethostname("n" * int(sys.argv[1])); os.execvp(sys.argv[2], sys.argv[2:])'
  for length in 49 50 57 64; do
    check "a host name of $length characters" 0 "$right" \
      unshare -u python3 -c "$named" $length "${run[@]}" 2 "$perf" all_reduce -b 8 -e 8 -n 1
  done
else
  echo "host names may not be changed: a long one is not tried"
fi
# small SIZE COMMAND...: with a TMPDIR of so many MiB.
mkdir "$scratch/small"
small=(unshare -m sh -c 'mount -t tmpfs -o size="$1"m none "$0" && shift && TMPDIR=$0 && exec "$@"' "$scratch/small")
if "${small[@]}" 1 true 2>/dev/null; then
  check "too little space in TMPDIR" 1 "TMPDIR: .*/small has 6.0 MiB free, and PMIx needs about 9 " "${small[@]}" 6 "${run[@]}" 2 "$bin/hello"
  check "enough space in TMPDIR" 0 "^2$" sh -c '"$@" 2>&1 | grep -c ""' sh "${small[@]}" 9 "${run[@]}" 2 "$bin/hello"
else
  echo "nothing may be mounted: a small TMPDIR is not tried"
fi
rmdir "$scratch/small"
# What is left when heddle-run is killed, on an older Linux too.
for preloaded in "" "$bin/../lib/libno_close_range.so"; do
  check "heddle-run killed, with a relative TMPDIR ${preloaded##*/}" 0 "^0 left$" bash -c 'cd "$TMPDIR" && mkdir here
    TMPDIR=here LD_PRELOAD=$1 "$0" -n 1 sh -c "echo >started; exec sleep 60" >/dev/null 2>&1 &
    until [ -e started ]; do sleep 0.1; done
    kill -9 $!
    for i in {1..50}; do [ "$(ls here)" ] || break; sleep 0.1; done
    echo "$(ls here | wc -l) left"; rm -r started here' "$bin/heddle-run" "$preloaded"
done

# A PE that dies in the middle of a collective is named by every other within 5 seconds.
for victim in 0 2; do
  check "death of PE $victim, the others go on" 137 "PE 1 RIGHT" "$bin/heddle-run" -n 4 --bind-to none --keep-going "$bin/fault_pe" $victim
  out=$("$bin/heddle-run" -n 4 --bind-to none --keep-going "$bin/fault_pe" $victim 2>&1 </dev/null)
  if [ "$(grep -c RIGHT <<<"$out")" = 3 ] && ! grep -q WRONG <<<"$out"; then passed=$((passed + 1)); else
    failed=$((failed + 1)); printf 'FAILED: three survivors name PE %s:\n%s\n' "$victim" "$out"; fi
done
check "death of a PE before init, the others go on" 3 "rank 1 of 3 ended before all had joined" timeout 20 "$bin/heddle-run" \
  -n 3 --bind-to none --keep-going sh -c '[ $PMIX_RANK != 1 ] || exit 3; exec "$0"' "$bin/hello"
# PE 1 ends well, before the others have joined or while they wait for it.
for pause in 0 0.7; do
  absent=(timeout 20 "$bin/heddle-run" -n 3 --bind-to none sh -c "[ \$PMIX_RANK = 1 ] || { sleep $pause; exec \$0; }" "$bin/hello")
  check "a PE that does not join, the others $pause s later" 1 "^heddle-run: PE 1 has ended without joining the job$" "${absent[@]}"
  check "what the others say of it, $pause s later" 1 "rank 1 of 3 ended before all had joined" "${absent[@]}"
done
check "a PE that does not join late" 1 "rank 1 of 3 ended before all had joined" timeout 20 "$bin/heddle-run" \
  -n 3 --bind-to none sh -c '[ $PMIX_RANK = 1 ] && sleep 0.7 || exec "$0"' "$bin/hello"
check "PEs that join no job" 0 "^0$" sh -c '"$@" 2>&1 | grep -c ""; true' sh "$bin/heddle-run" -n 3 --bind-to none sh -c 'sleep 0.$PMIX_RANK'
check "death of a PE ends the job" 137 "killed by signal 9" "$bin/heddle-run" -n 4 --bind-to none "$bin/fault_pe" 1

# Open MPI's launcher.
if command -v mpirun.openmpi >/dev/null; then
  for n in 2 4; do
    check "mpirun -n $n" 0 "values : 0 OK" mpirun.openmpi --oversubscribe -n $n "$bin/heddle-perf" all_reduce -b 8 -e 1M -f 64 -n 5
  done
  check "mpirun --enable-recovery" 0 "PE 2 RIGHT" mpirun.openmpi --oversubscribe --enable-recovery -n 3 "$bin/fault_pe" 1
else
  echo "mpirun.openmpi is not installed: its tests are not run"
fi

# One PE alone is told so in one line, and a launcher without PMIx how to start.
check "no launcher" 0 "WARN bootstrap: found no launcher, runs as one PE; start several by heddle-run -n" "$bin/hello"
check "no launcher, in one line" 0 "^1$" sh -c '"$0" 2>&1 >/dev/null | wc -l' "$bin/hello"
check "a launcher without PMIx" 1 "heddle-run|mpi=pmix" env PMI_RANK=0 PMI_SIZE=2 PMI_FD=7 "$bin/hello"
check "a PMIx launcher that is not there" 1 "no PMIx server answers.*srun --mpi=pmix" env PMIX_NAMESPACE=gone PMIX_RANK=0 "$bin/hello"

# Limits and closed files of the process.
check "files of limited size" 1 "ulimit -f" bash -c 'ulimit -f 1000; exec "$0"' "$bin/hello"
check "nothing open but what it opens" 0 "" bash -c 'exec "$0" >&- 2>&- <&-' "$bin/hello"

# Joining twice is an error; joining again after leaving is not.
check "init, again, and after finalize" 0 "RIGHT" "$bin/heddle-run" --bind-to none -n 3 "$bin/lifecycle_pe"
if command -v mpirun.openmpi >/dev/null; then
  check "mpirun: init, again, and after finalize" 0 "RIGHT" mpirun.openmpi --oversubscribe -n 3 "$bin/lifecycle_pe"
fi

# PEs that were started differently.
check "a variable that differs" 1 'agree on HEDDLE_EPOCH_BITS: PE 1 has 9, PE 0 has 8' "$bin/heddle-run" --bind-to none -n 3 \
  sh -c 'HEDDLE_EPOCH_BITS=$((8 + PMIX_RANK)) exec "$0"' "$bin/hello"
check "heaps of different sizes" 0 "PE 0 of 3 was sent 102" "$bin/heddle-run" --bind-to none -n 3 \
  sh -c 'HEDDLE_HEAP_SIZE=$((64 + PMIX_RANK))M exec "$0"' "$bin/hello"

# heddle-perf: what it writes, and what it says of bad options.
check "heddle-perf --json" 0 "values : 0 OK" "$bin/heddle-run" --bind-to none -n 2 "$bin/heddle-perf" all_reduce -b 8 -e 64 -f 8 -n 5 --json "$scratch/rows.json"
check "the rows of --json" 0 "^4 rows$" python3 "$here/check_rows.py" "$scratch/rows.json"
rm -f "$scratch/rows.json"
check "rate through the network" 0 "values : 0 OK" "$bin/heddle-run" --bind-to none -n 2 "$bin/heddle-perf" rate --no-p2p \
  --transport tcp -b 8 -e 600 -f 75 -n 3 --queues 3
# reached NAME NETWORK HOW...: by these options of heddle-perf its PEs reach each other by that network.
reached() {
  check "$1" 0 "INFO transport: .* are reached by $2 " "${run[@]}" 2 -x HEDDLE_DEBUG=INFO -x HEDDLE_DEBUG_SUBSYS=TRANSPORT \
    "$perf" put -b 8 -e 70000 -f 93 -n 1 -w 0 --no-p2p "${@:3}"
}
reached "--transport tcp" tcp --transport tcp
HEDDLE_TRANSPORT=none reached "--transport before the environment" tcp --transport tcp
if "$bin/heddle-info" --no-job | grep "^  tcp;ofi_rxm " >/dev/null; then
  reached "--transport libfabric" libfabric --transport libfabric
  for provider in "tcp;ofi_rxm" sockets; do reached "--provider $provider" "libfabric $provider" --provider "$provider"; done
fi
check "--provider of what is not there" 1 "HEDDLE_FABRIC_PROVIDER=carrot, and there is no network" "${run[@]}" 2 "$perf" put --no-p2p --provider carrot
check "as many queues as HEDDLE_CONTEXTS" 0 " 0 +3 +[0-9.]+$" "${run[@]}" 2 -x HEDDLE_CONTEXTS=3 "$perf" rate --no-p2p -b 8 -e 8 -n 1 -w 0
check "more queues than HEDDLE_CONTEXTS" 2 "queues 4: .* of which there are 3; raise HEDDLE_CONTEXTS" \
  "${run[@]}" 2 -x HEDDLE_CONTEXTS=3 "$perf" rate --no-p2p -b 8 -e 8 -n 1 -w 0 --queues 4
perf() { check "$1" "$2" "$3" "${run[@]}" 3 "$perf" "${@:4}"; }
for operation in reduce_scatter_v all_gather_v all_to_all_v; do
  perf "$operation" 0 "values : 0 OK" $operation -b 0 -e 70000 -f 4000 -d all -o all -n 1 -w 0
done
perf "operations of one group" 0 "values : 0 OK" sendrecv -b 0 -e 5000 -f 25 -n 2 -m 5
perf "operations of an iteration" 0 "values : 0 OK" all_reduce -b 8 -e 5000 -f 25 -n 2 -m 5 -o mulsum -z 1
perf "cycles and the host's time" 0 "cycle 2 of 2" all_gather -b 96 -e 96 -n 2 -N 2 -C 1 -a 1
perf "each root in turn" 0 "none +2 .* 0$" broadcast -b 0 -e 8 -n 2 -r -1 -a 0
perf "registered buffers" 0 "values : 0 OK" reduce -b 8 -e 1M -f 512 -n 2 -R 1 -a 2
perf "more checks" 0 "values : 0 OK" put -b 8 -e 8 -n 2 -c 4
perf "a graph without a GPU" 2 "graphs need a GPU" all_reduce -b 8 -e 8 -G 2
perf "cycles without end" 2 "N 0.* is not offered" all_reduce -N 0
# PE 1 makes fewer calls, and waits longer.
check "a deadline" 1 "waited 1\.[0-9]+ s for PE 1 " "$bin/heddle-run" --bind-to none -n 3 sh -c \
  'exec "$0" all_reduce -b 8 -e 8 -n 1 -T $((PMIX_RANK == 1 ? 60 : 1)) -N $((PMIX_RANK == 1 ? 1 : 2))' "$bin/heddle-perf"
check "heddle-perf tune" 0 "choices changed; HEDDLE_TUNING=$scratch/tuning.json" "$bin/heddle-run" --bind-to none -n 2 \
  "$bin/heddle-perf" tune -n 2 -w 0 --profile "$scratch/tuning.json"
check "a run with its profile" 0 "values : 0 OK" "$bin/heddle-run" --bind-to none -n 2 -x HEDDLE_TUNING="$scratch/tuning.json" \
  "$bin/heddle-perf" all_gather -b 8 -e 4096 -n 2 -w 0
echo '{"format": "heddle-tuning-2", "n_pes": 2, "ways": {"words": {"fixed_ns": 1, "ns_per_kib": 2}}}' >"$scratch/other.json"
check "a profile that one PE has" 1 "agree on HEDDLE_TUNING's words: PE 1 has" "$bin/heddle-run" --bind-to none -n 2 \
  sh -c '[ $PMIX_RANK = 1 ] || export HEDDLE_TUNING="$1"; exec "$0"' "$bin/hello" "$scratch/other.json"
rm -f "$scratch/tuning.json" "$scratch/other.json"
check "no such profile" 1 "HEDDLE_TUNING=/no/such.json: there is no such file" env HEDDLE_TUNING=/no/such.json "$bin/hello"
check "no such transport" 2 "pigeons" "$bin/heddle-perf" put --transport pigeons
check "no such operation" 2 "fly" "$bin/heddle-perf" fly
check "no such type" 2 "float128" "$bin/heddle-perf" all_reduce -d float128
check "no such reduction" 2 "xor" "$bin/heddle-perf" all_reduce -o xor
check "a size that is none" 2 "seven" "$bin/heddle-perf" all_reduce -b seven
check "sizes the wrong way round" 2 "" "$bin/heddle-perf" all_reduce -b 64 -e 8
check "put needs two PEs" 2 "start two, as heddle-run -n 2" "$bin/heddle-perf" put
check "a file that cannot be written" 1 "/no/such/folder" "$bin/heddle-perf" all_reduce -b 8 -e 8 -n 1 --json /no/such/folder/x.json

# The check sees a job that is there: its processes, their memory, their sockets.
"$bin/heddle-run" -n 2 --bind-to none --timeout 60 "$bin/fault_pe" -1 >/dev/null 2>&1 </dev/null &
check "leftovers are seen" 0 "fault_pe" bash -c 'for i in $(seq 100); do
  out=$(env -u LAUNCHER_TEST python3 "$0" "$LAUNCHER_TEST" 0)
  grep -q memfd:heddle-heap <<<"$out" && grep -q "abstract socket @heddle" <<<"$out" && break; sleep 0.1; done; echo "$out"' "$here/leftovers.py"
kill $!; wait $! 2>/dev/null

# Nothing is left: no process, no socket, no memory, no folder.
left=$(env -u LAUNCHER_TEST python3 "$here/leftovers.py" "$LAUNCHER_TEST"; ls -A "$scratch" | grep -v '^ompi\|^openmpi')
if [ -z "$left" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED: left behind:\n%s\n' "$left"; fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
