// The script that one would write oneself, from what a form asks. Pure.
export type Wish = {
  name: string; time: string; cpus: string; memory: string; gpus: string; nodes: string; account: string; partition: string;
  array: string; mail: boolean; modules: string; command: string;
};

export const nothing: Wish = {
  name: "", time: "1:00:00", cpus: "1", memory: "4G", gpus: "", nodes: "", account: "", partition: "", array: "", mail: false, modules: "", command: "",
};

/** A value as one word of an #SBATCH line. */
function word(value: string): string {
  const plain = value.replace(/[\r\n]+/g, " ").trim();
  return /^[\w@%+=:,./[\]-]*$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, "\\$&")}"`;
}

export function scriptOf(wish: Wish): string {
  const lines = ["#!/bin/bash"];
  const options: [string, string][] = [
    ["job-name", wish.name], ["account", wish.account], ["partition", wish.partition], ["time", wish.time], ["nodes", wish.nodes],
    ["cpus-per-task", wish.cpus === "1" ? "" : wish.cpus], ["mem", wish.memory], ["gpus", wish.gpus === "0" ? "" : wish.gpus], ["array", wish.array],
    ["mail-type", wish.mail ? "END,FAIL" : ""],
  ];
  for (const [option, value] of options) if (value.trim()) lines.push(`#SBATCH --${option}=${word(value)}`);
  lines.push("");
  if (wish.modules.trim()) lines.push(`module load ${wish.modules.trim().split(/\s+/).map(word).join(" ")}`);
  lines.push(wish.command.trim() || "echo \"Hello from $SLURM_JOB_ID\"");
  return lines.join("\n") + "\n";
}
