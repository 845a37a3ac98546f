#!/bin/bash
#SBATCH --time=10
#SBATCH --mem=1G
#SBATCH --time=20
#SBATCH --mem=2G
true
