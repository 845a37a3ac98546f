#!/bin/bash
#SBATCH --comment=first run
#SBATCH --time=5
true
