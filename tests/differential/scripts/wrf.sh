#!/bin/bash
#SBATCH -J wrf -p main
#SBATCH -n 12 --mem-per-cpu=1G
#SBATCH --time=23:59:59
#SBATCH -o wrf.%j.out -e wrf.%j.err
cd $SLURM_SUBMIT_DIR
srun ./wrf.exe
