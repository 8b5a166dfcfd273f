#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=64 --time=12:00:00
#SBATCH --signal=USR1@120
# Does the same as job.sh by srun, without an mpirun: sbatch srun.sh pmix for Open MPI, sbatch srun.sh pmi2 for MPICH.
restart=
[ -e output/checkpoint.tck ] && restart=--restart
srun --mpi="${1:-pmix}" --kill-on-bad-exit=1 tessera-md run.toml $restart
