// The three classes of failure (user, invariant, outside world) and the check macros that raise them.
//
// A message reads "op: what is wanted, what was got". Nothing reachable from Python may abort the process, so
// every check throws; the binding translates `ErrorKind` to the Python exception of the same name.
#pragma once

#include <stdexcept>
#include <string>

#include "base/cat.h"

namespace tw {

enum class ErrorKind {
  // the user's mistake
  kValue,
  kType,
  kIndex,
  kRuntime,  // a sequence of calls that is not allowed, e.g. a second backward through a freed graph
  kNotImplemented,
  kPlacement,
  // a broken invariant of ours
  kInternal,
  // the outside world
  kOutOfMemory,
  kOs,
  kDevice,
  kComm,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

[[noreturn]] void throw_error(ErrorKind kind, std::string message);
[[noreturn]] void throw_assertion(const char* file, int line, const char* expression,
                                  const std::string& values);

}  // namespace tw

// TW_CHECK(dim < rank, kIndex, "sum: dim must be below ", rank, ", got ", dim)
#define TW_CHECK(condition, kind, ...)                                  \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::tw::throw_error(::tw::ErrorKind::kind, ::tw::cat(__VA_ARGS__)); \
  } while (false)

#define TW_FAIL(kind, ...) ::tw::throw_error(::tw::ErrorKind::kind, ::tw::cat(__VA_ARGS__))

// An invariant of our own: TW_ASSERT(n, ==, m) prints both values and asks for a report.
#define TW_ASSERT(a, op, b)                                                                         \
  do {                                                                                              \
    auto&& tw_a = (a);                                                                              \
    auto&& tw_b = (b);                                                                              \
    if (!(tw_a op tw_b)) [[unlikely]]                                                               \
      ::tw::throw_assertion(__FILE__, __LINE__, #a " " #op " " #b, ::tw::cat(tw_a, " and ", tw_b)); \
  } while (false)
