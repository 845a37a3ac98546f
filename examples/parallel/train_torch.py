"""The same with torch.distributed: DistributedDataParallel over gloo (processors) or nccl (GPUs).

Slurm's variables say who everybody is, so srun alone starts it; nobody needs torchrun.
"""
import argparse
import json
import os

import torch
import torch.distributed as distributed

parser = argparse.ArgumentParser()
parser.add_argument("--samples", type=int, default=4096)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--output")
options = parser.parse_args()

rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
gpu = torch.cuda.is_available()
distributed.init_process_group("nccl" if gpu else "gloo", rank=rank, world_size=size)
device = torch.device("cuda", int(os.environ["SLURM_LOCALID"]) % torch.cuda.device_count()) if gpu else torch.device("cpu")

torch.manual_seed(1)
data = torch.randn(options.samples, 32)
labels = (data @ torch.randn(32) > 0).float()
mine = slice(rank * options.samples // size, (rank + 1) * options.samples // size)
data, labels = data[mine].to(device), labels[mine].to(device)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.Tanh(),
                                                                      torch.nn.Linear(16, 1)).to(device))
optimizer = torch.optim.Adam(model.parameters(), 0.02)
for epoch in range(1, options.epochs + 1):
    optimizer.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(data).squeeze(1), labels)
    loss.backward()  # averages the gradients of all processes
    optimizer.step()
total = loss.detach().clone()
distributed.all_reduce(total)
if rank == 0:
    print(f"{size} processes on {'GPUs' if gpu else 'processors'}, loss {total.item() / size:.4f}")
    if options.output:
        with open(options.output, "w") as file:
            json.dump({"processes": size, "loss": total.item() / size}, file)
distributed.destroy_process_group()
