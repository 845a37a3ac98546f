#!/usr/bin/env julia
#SBATCH --ntasks=4
#SBATCH --time=00:15:00
using Distributed
