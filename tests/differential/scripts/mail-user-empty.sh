#!/bin/bash -l
#SBATCH -D /tmp
#SBATCH -o /tmp/testout-%j.txt
#SBATCH -e /tmp/err-%j.txt
#SBATCH -J runarray
#SBATCH --array=1-1
#SBATCH --mail-user=
#SBATCH --mail-type=END
#SBATCH --mail-type=FAIL #email if fails
set -e
set -u
sh run_$SLURM_ARRAY_TASK_ID.sh
