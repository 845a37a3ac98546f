#!/bin/bash
#SBATCH -J last
#SBATCH -t 5