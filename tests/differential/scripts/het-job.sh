#!/bin/bash
#SBATCH --cpus-per-task=2 --mem-per-cpu=100M --ntasks=1
#SBATCH hetjob
#SBATCH --cpus-per-task=1 --mem-per-cpu=200M --ntasks=2
srun run.app
