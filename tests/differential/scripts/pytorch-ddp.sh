#!/bin/bash
#SBATCH --job-name=multinode-example
#SBATCH --nodes=2
#SBATCH --ntasks=2
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=2
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head_node=${nodes[0]}
srun torchrun --nnodes 2 --nproc_per_node 1 --rdzv_id $RANDOM --rdzv_endpoint $head_node:29500 train.py
