// No text makes the parser of --constraint crash, hang or grow without bound.
#include <cstdint>
#include <string_view>

#include "model/cluster.pb.h"
#include "sched/constraint.h"

namespace {

minke::sched::MachineLayout make_layout() {
  minke::model::NodeRecord node;
  node.set_name("n");
  node.set_cpus(1);
  for (const char* feature : {"a", "b", "c", "d", "e", "f"}) node.add_features(feature);
  return minke::sched::MachineLayout::build(std::vector{node}, {}).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const minke::sched::MachineLayout layout = make_layout();
  const auto parsed = minke::sched::parse_constraint({reinterpret_cast<const char*>(data), size}, layout);
  if (parsed && (parsed->cases.empty() || parsed->cases.size() > 64)) __builtin_trap();
  return 0;
}
