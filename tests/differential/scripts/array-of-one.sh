#!/bin/bash
#SBATCH --account=def-someone
#SBATCH --time=24:00:00
#SBATCH --array=0-0
#SBATCH --cpus-per-task=4
#SBATCH --mem=3G
#SBATCH --mail-user=someone@example.org
#SBATCH --mail-type=ALL
#SBATCH --output=bwa-%A_%a.out
#SBATCH --error=bwa-%A_%a.out

if [ -z "$SLURM_ARRAY_TASK_ID" ]
then
  SLURM_ARRAY_TASK_ID=0
fi
