#!/bin/sh
# properties = {"type": "single", "rule": "map", "resources": {"mem_mb": 1000}}
#SBATCH --cpus-per-task=2
#SBATCH --mem=1000
snakemake --snakefile Snakefile
