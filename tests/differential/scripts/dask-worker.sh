#!/usr/bin/env bash

#SBATCH -J dask-worker
#SBATCH -e /tmp/dask-worker-%J.err
#SBATCH -o /tmp/dask-worker-%J.out
#SBATCH -n 1
#SBATCH --cpus-per-task=4
#SBATCH --mem=4000M
#SBATCH -t 00:30:00
python -m distributed.cli.dask_worker tcp://localhost:1
