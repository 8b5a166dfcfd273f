#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=64 --time=12:00:00
#SBATCH --signal=B:USR1@120 --requeue --open-mode=append
# Goes back into the queue whenever its time is up, until the run has made all of its steps.
restart=
[ -e output/checkpoint.tck ] && restart=--restart
trap 'kill -USR1 $run' USR1
tessera run run.toml $restart "$@" &
run=$!
wait $run; status=$?
while kill -0 $run 2>/dev/null; do wait $run; status=$?; done   # a signal ends the first wait
[ $status = 138 ] && scontrol requeue "$SLURM_JOB_ID"           # 138: stopped by SIGUSR1
exit $status
