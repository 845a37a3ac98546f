#!/bin/bash
#SBATCH -A proj_123
#SBATCH -q normal
#SBATCH --reservation=maintenance
true
