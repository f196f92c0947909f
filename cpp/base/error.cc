#include "base/error.h"

namespace tw {

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, message); }

void throw_assertion(const char* file, int line, const char* expression, const std::string& values) {
  throw Error(ErrorKind::kInternal, cat("internal error, please report it: ", expression, " does not hold (",
                                        values, ") at ", file, ":", line));
}

}  // namespace tw
