#!/bin/bash
#SBATCH --profile=task --acctg-freq=task=10
#SBATCH --cpu-freq=Performance
#SBATCH --propagate=STACK
true
