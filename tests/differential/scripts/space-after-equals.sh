#!/bin/bash
#SBATCH --job-name= test
#SBATCH --time=5
true
