#!/bin/sh
# Installs Tessera into a Debian or Ubuntu of a container: the latest wheel in this folder for the container's processor,
# with its readers of other programs' files, Debian's Open MPI, and an MPICH beside it in the same environment. Both kinds
# of containers run it.
set -eu
folder=$(dirname "$0") processor=$(uname -m)
wheel=$(find "$folder" -name "tessera_md-*_$processor.whl" | sort -V | tail -n 1)
if [ -z "$wheel" ]; then
  echo "install.sh: there is no wheel for $processor; make one in the checkout by 'make wheel'" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends openmpi-bin openssh-client python3 python3-venv
rm -rf /var/lib/apt/lists/*
python3 -m venv /opt/tessera
/opt/tessera/bin/pip install --quiet --no-cache-dir "$wheel[formats,pdb,mpi]" mpich
