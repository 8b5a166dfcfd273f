#!/bin/sh
# Installs Tessera into a Debian or Ubuntu of a container: the wheel in this folder with its readers of other programs'
# files, Debian's Open MPI, and an MPICH beside it in the same environment. Both kinds of containers run it.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends openmpi-bin openssh-client python3 python3-venv
rm -rf /var/lib/apt/lists/*
python3 -m venv /opt/tessera
for wheel in "$(dirname "$0")"/tessera_md-*.whl; do
  /opt/tessera/bin/pip install --quiet --no-cache-dir "$wheel[formats,pdb,mpi]" mpich
done
