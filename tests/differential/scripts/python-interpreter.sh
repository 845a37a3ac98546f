#!/usr/bin/env python3
#SBATCH -J py
#SBATCH -t 5
#SBATCH -a 0-9:3
"""A job of its own."""
import os
print(os.environ["SLURM_ARRAY_TASK_ID"])
