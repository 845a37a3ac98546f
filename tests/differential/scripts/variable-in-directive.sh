#!/bin/bash
#SBATCH --job-name=run_${NAME}
#SBATCH --output=$HOME/logs/%j.out
#SBATCH --array=1-10
echo $SLURM_ARRAY_TASK_ID
