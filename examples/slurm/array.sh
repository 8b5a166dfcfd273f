#!/bin/bash
#SBATCH --ntasks=64 --time=12:00:00 --array=1-10
#SBATCH --signal=B:USR1@120
# Runs run.toml ten times with other random numbers, each in a folder of its own.
folder=output-$SLURM_ARRAY_TASK_ID
restart=
[ -e "$folder/checkpoint.tck" ] && restart=--restart
exec tessera run run.toml --set output.folder="$folder" --set dynamics.seed="$SLURM_ARRAY_TASK_ID" $restart "$@"
