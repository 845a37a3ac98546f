#!/bin/bash
#SBATCH --array=0-100:10%3
#SBATCH --output=arr.%A.%4a.out
echo
