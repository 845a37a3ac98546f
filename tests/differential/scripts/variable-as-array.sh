#!/bin/bash
#SBATCH --array=1-$N
echo $SLURM_ARRAY_TASK_ID
