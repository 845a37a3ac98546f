#!/bin/bash
#SBATCH --exclusive=user
#SBATCH -n 2
true
