#!/bin/bash
#SBATCH --nodes=1 exclusive
#SBATCH --time=5
true
