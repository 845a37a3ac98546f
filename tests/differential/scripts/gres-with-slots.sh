#!/bin/bash
#SBATCH --gres=gpu:a100:1,gpu:0
#SBATCH -n 1
true
