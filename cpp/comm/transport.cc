#include "comm/transport.h"

#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "comm/ucx_path.h"

namespace tw::comm {

namespace {

constexpr const char* kVariable = "THALWEG_TRANSPORT";

WantedTransport wanted_by(const JobOptions& options) {
  const char* set = std::getenv(kVariable);
  std::string word = !options.transport.empty() ? options.transport : set ? set : "";
  TW_CHECK(word.empty() || word == "tcp" || word == "ucx", kValue, "the environment variable ", kVariable,
           " should be tcp or ucx, got '", word, "'");
  if (word.empty()) return WantedTransport::kAny;
  return word == "tcp" ? WantedTransport::kTcp : WantedTransport::kUcx;
}

// Whether the launcher says so. Loading UCX takes time (0.4 s on a virtual machine, where it measures the
// clock), which jobs of one machine need not spend.
bool on_one_machine(const JobOptions& options) {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* here = std::getenv(name)) return here == std::to_string(options.processes);
  return false;
}

std::string version_text(uint32_t version) {
  if (version == 0) return "has none";
  return cat("has version ", version >> 20, ".", version >> 10 & 1023, ".", version & 1023);
}

}  // namespace

const char* name_of(Transport transport) {
  switch (transport) {
    case Transport::kMemory:
      return "shared memory";
    case Transport::kTcp:
      return "tcp";
    case Transport::kUcx:
      return "ucx";
  }
  return "";
}

void describe_transports(Arrival* mine, const JobOptions& options) {
  mine->wanted = wanted_by(options);
  if (options.processes == 1 || mine->wanted == WantedTransport::kTcp) return;
  if (mine->wanted == WantedTransport::kAny && on_one_machine(options)) return;
  mine->ucx_version = ucx_version();
  TW_CHECK(mine->wanted != WantedTransport::kUcx || mine->ucx_version != 0, kComm, kVariable,
           "=ucx: ", why_no_ucx());
}

Transport transport_between(const Arrival& a, const Arrival& b) {
  return a.ucx_version != 0 && a.ucx_version == b.ucx_version ? Transport::kUcx : Transport::kTcp;
}

std::string transport_problem(const std::vector<Arrival>& all) {
  for (const Arrival& a : all) {
    if (a.wanted != WantedTransport::kUcx) continue;
    for (const Arrival& b : all) {
      if (std::string_view(a.host) == b.host || transport_between(a, b) == Transport::kUcx) continue;
      bool refuses = b.wanted == WantedTransport::kTcp;
      return cat("process ", a.process, " wants UCX (", kVariable, "=ucx), of which it ",
                 version_text(a.ucx_version), "; process ", b.process,
                 refuses ? cat(" wants TCP (", kVariable, "=tcp)") : cat(" ", version_text(b.ucx_version)));
    }
  }
  return "";
}

}  // namespace tw::comm
