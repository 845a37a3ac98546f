#!/bin/bash
#SBATCH --job-name='my job'
#SBATCH --comment="it's the second run"
#SBATCH --mail-user="someone@example.org" --mail-type="BEGIN,END"
#SBATCH --constraint="fast&big"
true
