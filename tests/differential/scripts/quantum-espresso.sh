#!/bin/bash
#SBATCH --job-name=qe
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=4
#SBATCH --time=06:00:00
#SBATCH --contiguous
#SBATCH --switches=1
srun pw.x -nk 2 -in scf.in
