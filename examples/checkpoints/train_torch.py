"""Training that goes on where it was stopped, with PyTorch: each epoch ends in a checkpoint that is whole or the one before.

The checkpoint has all that the next epoch depends on: weights, the optimizer's state, the epoch and the random numbers'.
"""
import argparse
import os
import signal

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--checkpoint", default="torch.pt")
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--stop-after", type=int, help="end as if the time were up, after this epoch")
options = parser.parse_args()

stopped = False


def stop(*_) -> None:
    """SIGTERM and SIGUSR1 (sbatch --signal=USR1@120): the epoch ends, and its checkpoint is written."""
    global stopped
    stopped = True


for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, stop)

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
data = torch.randn(1024, 16, device=device)
labels = (data.sum(dim=1) > 0).float()
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), 0.02)

begin = 1
if os.path.exists(options.checkpoint):
    state = torch.load(options.checkpoint, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"].cpu())
    begin = state["epoch"] + 1
    print(f"going on with epoch {begin}")

for epoch in range(begin, options.epochs + 1):
    for batch in torch.randperm(len(data), device="cpu").to(device).split(128):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(data[batch]).squeeze(1), labels[batch])
        loss.backward()
        optimizer.step()
    unfinished = options.checkpoint + ".unfinished"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state(),
                "epoch": epoch}, unfinished)
    os.replace(unfinished, options.checkpoint)
    print(f"epoch {epoch}: loss {loss.item():.6f}", flush=True)
    if stopped or epoch == options.stop_after:
        raise SystemExit(75)  # not done yet: minke chain, or the next job, goes on
print("done")
