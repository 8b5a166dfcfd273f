#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=64 --time=12:00:00
#SBATCH --signal=B:USR1@120
# Runs run.toml on all hosts of the job. Two minutes before its time is up, the run writes a checkpoint and ends; the
# same script, submitted again, goes on from there. Arguments go to tessera run: sbatch job.sh --mpi mpich
restart=
[ -e output/checkpoint.tck ] && restart=--restart
exec tessera run run.toml $restart "$@"   # exec: signals to the script are its own
