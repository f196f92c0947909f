// Over what two processes of different machines talk: UCX where both have the same version of it, else TCP;
// the environment variable THALWEG_TRANSPORT (tcp or ucx) leaves no choice.
#pragma once

#include <string>
#include <vector>

#include "comm/link.h"
#include "comm/rendezvous.h"

namespace tw::comm {

const char* name_of(Transport transport);  // "shared memory", "tcp", "ucx"

// Fills in what this process has and wants. Throws kValue for another word in the variable, kComm where it
// says ucx and there is none.
void describe_transports(Arrival* mine, const JobOptions& options);
// Between two processes of different machines.
Transport transport_between(const Arrival& a, const Arrival& b);
// Empty, or who wants what another one cannot do.
std::string transport_problem(const std::vector<Arrival>& all);

}  // namespace tw::comm
