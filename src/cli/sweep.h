// minke sweep: searches for hyperparameters on the cluster.
#pragma once

namespace minke::cli {

int sweep_main(int argc, char** argv);

}  // namespace minke::cli
