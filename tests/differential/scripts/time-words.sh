#!/bin/bash
#SBATCH --time=2 hours
true
