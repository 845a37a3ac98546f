#include "mpi/pmix_server.h"

#include <algorithm>

#if __has_include(<pmix_server.h>)
#define MINKE_HAS_PMIX 1
#include <dlfcn.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <pmix.h>
#include <pmix_server.h>
#endif

namespace minke::mpi {

std::vector<uint32_t> StepMap::node_numbers() const {
  std::vector<uint32_t> numbers;
  std::vector<std::string> seen;
  for (const std::string& node : node_of_rank) {
    const auto at = std::find(seen.begin(), seen.end(), node);
    numbers.push_back(static_cast<uint32_t>(at - seen.begin()));
    if (at == seen.end()) seen.push_back(node);
  }
  return numbers;
}

#ifndef MINKE_HAS_PMIX

Status PmixServer::available() {
  return failure("this program was built without PMIx");
}
Result<std::unique_ptr<PmixServer>> PmixServer::start(const StepMap&, const std::string&, OnAbort) {
  return failure("this program was built without PMIx");
}

#else

namespace {

// The used functions of the library, found at run time.
struct Library {
  decltype(&PMIx_server_init) init = nullptr;
  decltype(&PMIx_server_finalize) finalize = nullptr;
  decltype(&PMIx_server_register_nspace) register_nspace = nullptr;
  decltype(&PMIx_server_register_client) register_client = nullptr;
  decltype(&PMIx_server_setup_fork) setup_fork = nullptr;
  decltype(&PMIx_generate_regex) generate_regex = nullptr;
  decltype(&PMIx_generate_ppn) generate_ppn = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
};

Result<const Library*> library() {
  static Library loaded;
  static const std::string problem = [] {
    // Its plug-ins find its symbols among the global ones.
    void* handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return std::string(::dlerror());
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    const bool whole =
        find(loaded.init, "PMIx_server_init") && find(loaded.finalize, "PMIx_server_finalize") &&
        find(loaded.register_nspace, "PMIx_server_register_nspace") &&
        find(loaded.register_client, "PMIx_server_register_client") &&
        find(loaded.setup_fork, "PMIx_server_setup_fork") &&
        find(loaded.generate_regex, "PMIx_generate_regex") &&
        find(loaded.generate_ppn, "PMIx_generate_ppn") && find(loaded.error_string, "PMIx_Error_string");
    return whole ? std::string() : std::string("libpmix.so.2 lacks functions of PMIx 3");
  }();
  if (!problem.empty()) return failure(problem);
  return &loaded;
}

// Keys and values in the library's form. Their data lives as long as this object.
class Info {
 public:
  void text(const char* key, const std::string& value) {
    strings_.push_back(std::make_unique<std::string>(value));
    pmix_value_t& slot = add(key);
    slot.type = PMIX_STRING;
    slot.data.string = strings_.back()->data();
  }
  void flag(const char* key, bool value) {
    pmix_value_t& slot = add(key);
    slot.type = PMIX_BOOL;
    slot.data.flag = value;
  }
  void number(const char* key, uint32_t value) {
    pmix_value_t& slot = add(key);
    slot.type = PMIX_UINT32;
    slot.data.uint32 = value;
  }
  void small_number(const char* key, uint32_t value) {
    pmix_value_t& slot = add(key);
    slot.type = PMIX_UINT16;
    slot.data.uint16 = static_cast<uint16_t>(value);
  }
  void rank(const char* key, uint32_t value) {
    pmix_value_t& slot = add(key);
    slot.type = PMIX_PROC_RANK;
    slot.data.rank = value;
  }
  // The text of a map may be bytes with NULs. Without the plain form, its length is unknown here, so the
  // library's own rules copy only the plain form.
  void regex(const char* key, char* value) {
    pmix_value_t& slot = add(key);
    slot.type = PMIX_REGEX;
    slot.data.bo.bytes = value;
    slot.data.bo.size = regex_size(value);
  }
  void array(const char* key, Info& of) {
    arrays_.push_back(std::make_unique<pmix_data_array_t>());
    arrays_.back()->type = PMIX_INFO;
    arrays_.back()->size = of.items_.size();
    arrays_.back()->array = of.items_.data();
    pmix_value_t& slot = add(key);
    slot.type = PMIX_DATA_ARRAY;
    slot.data.darray = arrays_.back().get();
  }
  pmix_info_t* data() { return items_.data(); }
  size_t size() const { return items_.size(); }

 private:
  pmix_value_t& add(const char* key) {
    pmix_info_t item;
    std::memset(&item, 0, sizeof item);
    std::strncpy(item.key, key, PMIX_MAX_KEYLEN);
    items_.push_back(item);
    return items_.back().value;
  }
  // "pmix:…" is a text; "blob:component:<length>:" precedes that many bytes behind a NUL.
  static size_t regex_size(const char* text) {
    const size_t length = std::strlen(text);
    if (std::strncmp(text, "blob:", 5) != 0) return length + 1;
    const char* size = std::strstr(text, "size=");
    return length + 1 + (size != nullptr ? std::strtoul(size + 5, nullptr, 10) : 0);
  }

  std::vector<pmix_info_t> items_;
  std::vector<std::unique_ptr<std::string>> strings_;
  std::vector<std::unique_ptr<pmix_data_array_t>> arrays_;
};

// Lets a caller wait for a callback of the library.
class Completion {
 public:
  static void done(pmix_status_t status, void* self) { static_cast<Completion*>(self)->set(status); }
  pmix_status_t wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return status_;
  }

 private:
  void set(pmix_status_t status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_ = true;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

// The state that callbacks share with the server. A process has one server at a time.
struct Shared {
  std::mutex mutex;
  PmixServer::OnAbort on_abort;
  std::set<uint32_t> connected, finalised;
};
Shared g_shared;

pmix_status_t client_connected(const pmix_proc_t* proc, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t,
                               void*) {
  const std::lock_guard lock(g_shared.mutex);
  g_shared.connected.insert(proc->rank);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  const std::lock_guard lock(g_shared.mutex);
  g_shared.finalised.insert(proc->rank);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_aborts(const pmix_proc_t* proc, void*, int status, const char* message, pmix_proc_t*,
                            size_t, pmix_op_cbfunc_t, void*) {
  PmixServer::OnAbort tell;
  {
    const std::lock_guard lock(g_shared.mutex);
    tell = g_shared.on_abort;
  }
  if (tell) tell({proc->rank, status, message != nullptr ? message : ""});
  return PMIX_OPERATION_SUCCEEDED;
}

// All ranks are here: their contributions are the whole answer.
pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data, size_t size,
                    pmix_modex_cbfunc_t answer, void* to) {
  answer(PMIX_SUCCESS, data, size, to, ::free, data);
  return PMIX_SUCCESS;
}

// Asked for a rank that no server knows: there is no other server.
pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t*, size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

pmix_status_t agree(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

class LoadedServer final : public PmixServer {
 public:
  explicit LoadedServer(const Library& pmix) : pmix_(pmix) {}

  ~LoadedServer() override {
    if (initialised_) pmix_.finalize();
    const std::lock_guard lock(g_shared.mutex);
    g_shared.on_abort = nullptr;
    g_shared.connected.clear();
    g_shared.finalised.clear();
  }

  Status begin(const StepMap& map, const std::string& directory, OnAbort on_abort) {
    {
      const std::lock_guard lock(g_shared.mutex);
      g_shared.on_abort = std::move(on_abort);
    }
    namespace_ = "slurm.pmix." + map.job_id;
    nodes_ = map.node_of_rank;
    module_.client_connected2 = client_connected;
    module_.client_finalized = client_finalized;
    module_.abort = client_aborts;
    module_.fence_nb = fence;
    module_.direct_modex = direct_modex;
    module_.connect = agree;
    module_.disconnect = agree;
    Info options;
    options.text(PMIX_SERVER_TMPDIR, directory);
    options.text(PMIX_SYSTEM_TMPDIR, directory);
    // A name that no node has, whatever the machine is called: else the library would take that node's ranks
    // for its own host's.
    options.text(PMIX_HOSTNAME, "srun");
    if (const auto status = pmix_.init(&module_, options.data(), options.size()); status != PMIX_SUCCESS)
      return refused("PMIx_server_init", status);
    initialised_ = true;
    if (const Status done = register_ranks(map); !done) return done;
    for (uint32_t rank = 0; rank < nodes_.size(); ++rank) {
      const pmix_proc_t proc = name_of(rank);
      Completion completion;
      const auto status =
          pmix_.register_client(&proc, ::getuid(), ::getgid(), nullptr, Completion::done, &completion);
      if (status == PMIX_SUCCESS) completion.wait();
      if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        return refused("PMIx_server_register_client", status);
    }
    return {};
  }

  Result<std::vector<std::string>> environment(uint32_t rank) override {
    const pmix_proc_t proc = name_of(rank);
    char** variables = nullptr;
    if (const auto status = pmix_.setup_fork(&proc, &variables); status != PMIX_SUCCESS)
      return tl::unexpected(refused("PMIx_server_setup_fork", status).error());
    std::vector<std::string> result;
    for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
      // The machine's name, where a rank must see its virtual node's.
      if (std::strncmp(*variable, "PMIX_HOSTNAME=", 14) != 0) result.emplace_back(*variable);
      ::free(*variable);
    }
    ::free(variables);
    result.push_back("PMIX_HOSTNAME=" + nodes_[rank]);
    return result;
  }

  bool unfinished(uint32_t rank) override {
    const std::lock_guard lock(g_shared.mutex);
    return g_shared.connected.contains(rank) && !g_shared.finalised.contains(rank);
  }

 private:
  pmix_proc_t name_of(uint32_t rank) const {
    pmix_proc_t proc;
    std::memset(&proc, 0, sizeof proc);
    std::strncpy(proc.nspace, namespace_.c_str(), PMIX_MAX_NSLEN);
    proc.rank = rank;
    return proc;
  }

  Status refused(const char* what, pmix_status_t status) const {
    return failure(std::string(what) + ": " + pmix_.error_string(status));
  }

  Status register_ranks(const StepMap& map) {
    const std::vector<uint32_t> node_of = map.node_numbers();
    const auto size = static_cast<uint32_t>(nodes_.size());
    std::vector<std::string> names;
    std::vector<std::vector<uint32_t>> ranks;
    for (uint32_t rank = 0; rank < size; ++rank) {
      if (node_of[rank] == names.size()) {
        names.push_back(nodes_[rank]);
        ranks.emplace_back();
      }
      ranks[node_of[rank]].push_back(rank);
    }
    const auto join = [](const auto& parts, const char* between, auto text) {
      std::string joined;
      for (const auto& part : parts) joined += (joined.empty() ? "" : between) + text(part);
      return joined;
    };
    const auto list = [&](const std::vector<uint32_t>& numbers) {
      return join(numbers, ",", [](uint32_t number) { return std::to_string(number); });
    };
    const std::string node_list = join(names, ",", [](const std::string& name) { return name; });
    char *node_map = nullptr, *rank_map = nullptr;
    if (const auto status = pmix_.generate_regex(node_list.c_str(), &node_map); status != PMIX_SUCCESS)
      return refused("PMIx_generate_regex", status);
    if (const auto status = pmix_.generate_ppn(join(ranks, ";", list).c_str(), &rank_map);
        status != PMIX_SUCCESS)
      return refused("PMIx_generate_ppn", status);
    Info info;
    info.text(PMIX_JOBID, namespace_);
    info.regex(PMIX_NODE_MAP, node_map);
    info.regex(PMIX_PROC_MAP, rank_map);
    info.text(PMIX_NODE_LIST, node_list);
    info.number(PMIX_NUM_NODES, static_cast<uint32_t>(names.size()));
    info.number(PMIX_UNIV_SIZE, size);
    info.number(PMIX_JOB_SIZE, size);
    info.number(PMIX_MAX_PROCS, size);
    info.number(PMIX_JOB_NUM_APPS, 1);
    info.number(PMIX_APP_SIZE, size);
    info.flag(PMIX_SPAWNED, false);
    info.text(PMIX_MAPBY, "slot");
    std::vector<std::unique_ptr<Info>> parts;
    for (uint32_t rank = 0; rank < size; ++rank) {
      const std::vector<uint32_t>& here = ranks[node_of[rank]];
      const auto local = static_cast<uint32_t>(std::find(here.begin(), here.end(), rank) - here.begin());
      Info& one = *parts.emplace_back(std::make_unique<Info>());
      one.rank(PMIX_RANK, rank);
      one.number(PMIX_APPNUM, 0);
      one.rank(PMIX_APPLDR, 0);
      one.rank(PMIX_GLOBAL_RANK, rank);
      one.rank(PMIX_APP_RANK, rank);
      one.small_number(PMIX_LOCAL_RANK, local);
      one.small_number(PMIX_NODE_RANK, local);
      one.text(PMIX_HOSTNAME, nodes_[rank]);
      one.number(PMIX_NODEID, node_of[rank]);
      one.number(PMIX_REINCARNATION, 0);
      info.array(PMIX_PROC_DATA, one);
    }
    for (uint32_t node = 0; node < names.size(); ++node) {
      Info& one = *parts.emplace_back(std::make_unique<Info>());
      one.text(PMIX_HOSTNAME, names[node]);
      one.number(PMIX_NODEID, node);
      one.number(PMIX_LOCAL_SIZE, static_cast<uint32_t>(ranks[node].size()));
      one.number(PMIX_NODE_SIZE, static_cast<uint32_t>(ranks[node].size()));
      one.rank(PMIX_LOCALLDR, ranks[node].front());
      one.text(PMIX_LOCAL_PEERS, list(ranks[node]));
      info.array(PMIX_NODE_INFO_ARRAY, one);
    }
    const pmix_proc_t first = name_of(0);
    Completion completion;
    const auto status = pmix_.register_nspace(first.nspace, static_cast<int>(size), info.data(), info.size(),
                                              Completion::done, &completion);
    const auto outcome = status == PMIX_SUCCESS ? completion.wait() : status;
    ::free(node_map);
    ::free(rank_map);
    if (outcome != PMIX_SUCCESS && outcome != PMIX_OPERATION_SUCCEEDED)
      return refused("PMIx_server_register_nspace", outcome);
    return {};
  }

  const Library& pmix_;
  pmix_server_module_t module_{};
  std::string namespace_;
  std::vector<std::string> nodes_;
  bool initialised_ = false;
};

}  // namespace

Status PmixServer::available() {
  const auto pmix = library();
  return pmix ? Status() : Status(failure(pmix.error()));
}

Result<std::unique_ptr<PmixServer>> PmixServer::start(const StepMap& map, const std::string& directory,
                                                      OnAbort on_abort) {
  const auto pmix = library();
  if (!pmix) return failure(pmix.error());
  auto server = std::make_unique<LoadedServer>(**pmix);
  if (const Status begun = server->begin(map, directory, std::move(on_abort)); !begun)
    return failure(begun.error());
  return std::unique_ptr<PmixServer>(std::move(server));
}

#endif

}  // namespace minke::mpi
