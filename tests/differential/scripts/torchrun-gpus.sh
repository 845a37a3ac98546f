#!/bin/bash
#SBATCH --time=00:30:00
#SBATCH --job-name=test
#SBATCH --output=%x_%A.out
#SBATCH --error=%x_%A.err
#SBATCH --partition=main
#SBATCH --gres=gpu:2
torchrun --nnodes=1:2 --nproc_per_node=2 torchrun_test.py
