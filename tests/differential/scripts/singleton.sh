#!/bin/bash
#SBATCH --dependency=singleton
#SBATCH --job-name=daily
#SBATCH --begin=2035-01-01
true
