#!/bin/bash
#SBATCH -J matlab
#SBATCH -L matlab
#SBATCH -n 1 -c 4
matlab -batch main
