#include "node/processors.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <memory>

namespace minke::node {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Destroy>;

Topology new_topology() {
  hwloc_topology_t made = nullptr;
  return Topology(hwloc_topology_init(&made) == 0 ? made : nullptr);
}

int index_above(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t processor) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, processor);
  return found == nullptr ? 0 : static_cast<int>(found->logical_index);
}

std::vector<Processor> read(hwloc_topology_t topology) {
  if (hwloc_topology_load(topology) != 0) return {};
  std::vector<Processor> all;
  for (hwloc_obj_t one = nullptr;
       (one = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, one)) != nullptr;) {
    Processor processor;
    processor.number = one->os_index;
    processor.package = index_above(topology, HWLOC_OBJ_PACKAGE, one);
    processor.memory = std::max(0, hwloc_bitmap_first(one->nodeset));
    processor.cache = index_above(topology, HWLOC_OBJ_L3CACHE, one);
    processor.core = index_above(topology, HWLOC_OBJ_CORE, one);
    all.push_back(processor);
  }
  return all;
}

}  // namespace

std::vector<Processor> processors_of_machine() {
  const Topology topology = new_topology();
  if (topology == nullptr) return {};
  // Both flags: the second has no effect if a variable describes another machine.
  hwloc_topology_set_flags(topology.get(),
                           HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  return read(topology.get());
}

std::vector<Processor> processors_of_description(const std::string& synthetic) {
  const Topology topology = new_topology();
  if (topology == nullptr || hwloc_topology_set_synthetic(topology.get(), synthetic.c_str()) != 0) return {};
  return read(topology.get());
}

std::set<uint32_t> parse_cpus(const std::string& list) {
  const Bitmap bitmap(hwloc_bitmap_alloc());
  if (bitmap == nullptr || hwloc_bitmap_list_sscanf(bitmap.get(), list.c_str()) != 0) return {};
  std::set<uint32_t> cpus;
  for (int cpu = -1; (cpu = hwloc_bitmap_next(bitmap.get(), cpu)) >= 0 && cpu < CPU_SETSIZE;)
    cpus.insert(static_cast<uint32_t>(cpu));
  return cpus;
}

}  // namespace minke::node

// The static hwloc asks udev for the vendors of disks if it reads disks, which it does not do here. There is
// no static udev. These functions answer as if udev were not available.
extern "C" {
void* udev_new() {
  return nullptr;
}
void* udev_unref(void*) {
  return nullptr;
}
void* udev_device_new_from_subsystem_sysname(void*, const char*, const char*) {
  return nullptr;
}
const char* udev_device_get_property_value(void*, const char*) {
  return nullptr;
}
void* udev_device_unref(void*) {
  return nullptr;
}
}
