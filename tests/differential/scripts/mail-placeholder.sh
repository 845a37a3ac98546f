#!/bin/bash
#SBATCH --job-name=__RUNID__
#SBATCH --output=__LOGFILE__
#SBATCH --mail-user=<Your Email>
#SBATCH --mail-type=FAIL
#SBATCH --time=24:00:00
#SBATCH --mem-per-cpu=3000M
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --account=<Your Account>
module load picard/2.9.2
java -jar picard.jar
