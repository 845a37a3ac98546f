#!/bin/bash
#SBATCH --nodes=1-3
#SBATCH --ntasks=12
#SBATCH --time-min=01:00:00
#SBATCH --time=04:00:00
srun cp2k.psmp -i h2o.inp
