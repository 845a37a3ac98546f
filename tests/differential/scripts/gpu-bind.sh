#!/bin/bash
#SBATCH -N1 -n2 --gpus-per-node=2 --gpu-bind=single:1
#SBATCH -t 30
srun ./a.out
