#!/bin/bash
#SBATCH --array=1,3,5,7-9
#SBATCH --time=1
echo
