#!/bin/bash
#SBATCH -C "fast|slow"
#SBATCH -n 2
srun true
