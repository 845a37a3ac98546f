#!/bin/bash

# Example usage:
# <variables> sbatch genome.q

#SBATCH -J GenomeBWA-GATKHC
#SBATCH -o /hpcfs/users/%u/launch/slurm-%j.out

#SBATCH -A somegroup
#SBATCH -p main
#SBATCH -N 1
#SBATCH -n 4
#SBATCH --time=3-00:00 # change this to 3 days for real set
#SBATCH --mem=4000MB

# Notification configuration 
#SBATCH --mail-type=END                                         
#SBATCH --mail-type=FAIL                                        
#SBATCH --mail-user=someone@example.org

# load modules
module load BWA/0.7.15-foss-2017a
### module load GATK 3.7
