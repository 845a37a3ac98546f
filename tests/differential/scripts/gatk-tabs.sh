#!/bin/bash

#SBATCH -p main
#SBATCH -t 0-10:00
#SBATCH -c 4
#SBATCH --mem=4000M
#SBATCH --job-name mutect		
#SBATCH -o /tmp/Logs/%x-%j.out

module load gatk/3.8
