#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=1
#SBATCH --mem=3500M
#SBATCH --time=48:00:00
#SBATCH --output=%x-%j.out
$EBROOTORCA/orca job.inp > job.out
