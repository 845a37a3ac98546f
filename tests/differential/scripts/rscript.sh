#!/usr/bin/env Rscript
#SBATCH --job-name=r
#SBATCH --time=10:00
#SBATCH --mem=2G
args <- commandArgs(trailingOnly = TRUE)
print(Sys.getenv("SLURM_JOB_ID"))
