#!/bin/bash
#SBATCH -J fastqc
#SBATCH -a 1-24%6
#SBATCH -c 2
#SBATCH --mem 2G
#SBATCH -t 0-02:00
#SBATCH -o logs/%x-%A_%a.out
#SBATCH -e logs/%x-%A_%a.err
FILES=(data/*.fastq.gz)
f=${FILES[$SLURM_ARRAY_TASK_ID-1]}
fastqc -t "$SLURM_CPUS_PER_TASK" -o qc "$f"
