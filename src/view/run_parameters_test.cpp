#include "view/run_parameters.h"

#include <gtest/gtest.h>

#include "model/job_record.pb.h"

namespace minke::view {
namespace {

std::string shown(const model::JobRecord& job, std::string_view script) {
  std::string out;
  for (const RunParameter& one : run_parameters(job, script)) out += one.name + "=" + one.value + "\n";
  return out;
}

TEST(RunParameters, AreReadAsAScriptStatesThem) {
  model::JobRecord job;
  job.mutable_spec()->add_arguments("train.sh");
  job.mutable_spec()->add_arguments("--seed=3");
  job.mutable_spec()->set_export_option("ALL,WIDTH=64");
  EXPECT_EQ(shown(job,
                  "#!/bin/bash\n#SBATCH --time=5\nmodule load python/3.11 --force\nexport LR=0.1\n"
                  "srun python -u train.py --lr $LR --amp --name 'a b' optimizer.kind=adam -b 32 \\\n"
                  "  --width ${WIDTH} --decay ${DECAY:-0.01} --first $1  # --not this\n"),
            "WIDTH=64\nseed=3\nLR=0.1\nlr=0.1\namp=yes\nname=a b\noptimizer.kind=adam\nb=32\nwidth=64\n"
            "decay=0.01\nfirst=--seed=3\n");
}

TEST(RunParameters, AreTheTasksOfAnArray) {
  model::JobRecord job;
  job.set_array_task_id(7);
  EXPECT_EQ(shown(job, "SEED=$SLURM_ARRAY_TASK_ID python t.py --seed=$SEED; ./second --x=1"),
            "SLURM_ARRAY_TASK_ID=7\nSEED=7\nseed=7\nx=1\n");
}

TEST(RunParameters, OfOddScriptsEndAndAreBounded) {
  const model::JobRecord job;
  EXPECT_EQ(shown(job, ""), "");
  EXPECT_EQ(shown(job, "a 'open --x=1\nb $ ${ ${x --y=${\n= == =a --= --=a -- -\n\\"), "y=${\n");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "p --o" + std::to_string(i) + "=" + std::string(1000, 'v') + "\n";
  const auto all = run_parameters(job, many);
  EXPECT_EQ(all.size(), 200U);
  EXPECT_EQ(all[0].value.size(), 300U);
}

}  // namespace
}  // namespace minke::view
