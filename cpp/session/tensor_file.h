// Tensors with names in one file, in the safetensors format: 8 bytes with the length of the head, the head in
// JSON, the tensors' bytes.
//
// The metadata of files written here hold a "checksum": the CRC-32 of the whole file, in 8 hex digits, which
// count as zeros.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eager/tensor.h"

namespace tw::session {

struct TensorFile {
  std::vector<std::pair<std::string, std::string>> metadata;  // without the checksum
  std::vector<std::pair<std::string, eager::Tensor>> tensors;

  const std::string* metadata_of(const std::string& key) const;  // null where there is none
};

// Writes contiguous tensors of unlike names; complex128, which the format lacks, as pairs of float64. Throws
// kOs.
void write_tensor_file(const std::string& path, const TensorFile& file);

// Reads a file. With a `format`, the metadata must name it under "format", and the checksum must be right.
// Throws kOs where the file cannot be read, kValue where it is no such file; without its name.
TensorFile read_tensor_file(const std::string& path, const std::string& format = "");

}  // namespace tw::session
