#include "session/tensor_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/dims.h"
#include "ir/graph.h"
#include "session/crc32.h"
#include "session/json.h"

namespace tw::session {

namespace {

using eager::Tensor;

constexpr std::string_view kNoChecksum = "00000000";
constexpr int64_t kLongestHead = int64_t{1} << 30;

struct Code {
  const char* name;
  DType dtype;
};
constexpr Code kCodes[] = {
    {"BOOL", DType::kBool},   {"U8", DType::kUInt8},      {"I8", DType::kInt8},
    {"I16", DType::kInt16},   {"I32", DType::kInt32},     {"I64", DType::kInt64},
    {"F16", DType::kFloat16}, {"BF16", DType::kBFloat16}, {"F32", DType::kFloat32},
    {"F64", DType::kFloat64}, {"C64", DType::kComplex64},
};

const char* code_of(DType dtype) {
  for (const Code& code : kCodes)
    if (code.dtype == dtype) return code.name;
  TW_FAIL(kInternal, "safetensors: no code for ", dtype);
}

DType dtype_of_code(const std::string& name, const std::string& tensor) {
  for (const Code& code : kCodes)
    if (code.name == name) return code.dtype;
  TW_FAIL(kValue, "tensor \"", tensor, "\" has the unknown dtype ", name);
}

std::string hex_of(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

int64_t bytes_of(const Tensor& tensor) { return tensor->count() * size_of(tensor->dtype); }

std::string length_bytes(size_t size) {
  std::string bytes;
  for (int i = 0; i < 8; i++) bytes += static_cast<char>(uint64_t{size} >> 8 * i & 255);
  return bytes;
}

// Of a file with this head, in which the checksum is zeros, and these tensors.
uint32_t checksum_of(const std::string& head, const TensorFile& file) {
  Crc32 crc;
  crc.add(length_bytes(head.size()).data(), 8);
  crc.add(head.data(), head.size());
  for (const auto& [name, tensor] : file.tensors) crc.add(tensor->data(), bytes_of(tensor));
  return crc.value();
}

size_t checksum_place(const std::string& head) {
  constexpr std::string_view key = "\"checksum\":\"";
  size_t at = head.find(key);
  return at == std::string::npos ? at : at + key.size();
}

// --- writing

std::string head_of(const TensorFile& file) {
  std::string head = "{\"__metadata__\":{\"checksum\":\"";
  head += kNoChecksum;
  head += '"';
  for (const auto& [key, text] : file.metadata) {
    head += ',';
    append_json_string(head, key);
    head += ':';
    append_json_string(head, text);
  }
  head += '}';
  int64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    bool pairs = tensor->dtype == DType::kComplex128;
    IntList sizes(tensor->sizes.begin(), tensor->sizes.end());
    if (pairs) sizes.push_back(2);
    head += ',';
    append_json_string(head, name);
    head += cat(":{\"dtype\":\"", code_of(pairs ? DType::kFloat64 : tensor->dtype), "\",\"shape\":", sizes,
                ",\"data_offsets\":[", offset, ",", offset + bytes_of(tensor), "]}");
    offset += bytes_of(tensor);
  }
  head += '}';
  head.resize((head.size() + 7) / 8 * 8, ' ');
  return head;
}

// --- reading

class Reader {
 public:
  explicit Reader(const std::string& path) : stream_(path, std::ios::binary | std::ios::ate) {
    TW_CHECK(stream_, kOs, "cannot be opened: ", std::strerror(errno));
    size_ = stream_.tellg();
    stream_.seekg(0);
    TW_CHECK(stream_ && size_ >= 0, kOs, "cannot be read");
  }

  TensorFile read(const std::string& format) {
    std::string text = read_head();
    Json head = parse_json(text);
    TW_CHECK(head.kind == Json::Kind::kObject, kValue, "its head must be an object");
    TensorFile file = read_metadata(head);
    const std::string* named = file.metadata_of("format");
    TW_CHECK(format.empty() || (named && *named == format), kValue, "it is no ", format);
    read_tensors(head, file);
    if (!format.empty()) check(std::move(text), file);
    return file;
  }

 private:
  struct Entry {
    std::string name;
    DType dtype;
    Dims sizes;
    int64_t begin, end;
  };

  void read_bytes(void* data, int64_t size) {
    stream_.read(static_cast<char*>(data), size);
    TW_CHECK(stream_.gcount() == size, kOs, "cannot be read");
  }

  std::string read_head() {
    uint8_t length[8];
    TW_CHECK(size_ >= 8, kValue, "it ends after ", size_, " bytes");
    read_bytes(length, 8);
    uint64_t size = 0;
    for (int i = 0; i < 8; i++) size |= uint64_t{length[i]} << 8 * i;
    TW_CHECK(size <= static_cast<uint64_t>(std::min(size_ - 8, kLongestHead)), kValue,
             "its head should have ", size, " bytes, but it ends after ", size_);
    std::string text(size, '\0');
    read_bytes(text.data(), static_cast<int64_t>(size));
    data_bytes_ = size_ - 8 - static_cast<int64_t>(size);
    return text;
  }

  TensorFile read_metadata(const Json& head) {
    TensorFile file;
    const Json* metadata = head.find("__metadata__");
    for (size_t i = 0; metadata && i < metadata->keys.size(); i++) {
      const std::string& text = metadata->items[i].string(metadata->keys[i]);
      if (metadata->keys[i] == "checksum")
        checksum_ = text;
      else
        file.metadata.emplace_back(metadata->keys[i], text);
    }
    return file;
  }

  static Entry entry_of(const std::string& name, const Json& json) {
    std::string what = cat("tensor \"", name, "\"");
    Entry entry{name, dtype_of_code(json.at("dtype", what).string(what), name), {}, 0, 0};
    for (const Json& size : json.at("shape", what).list(what)) entry.sizes.push_back(size.count(what));
    ir::check_sizes(entry.dtype, entry.sizes);
    const auto& offsets = json.at("data_offsets", what).list(what);
    TW_CHECK(offsets.size() == 2, kValue, what, " must have two data_offsets");
    entry.begin = offsets[0].count(what);
    entry.end = offsets[1].count(what);
    TW_CHECK(entry.begin <= entry.end && entry.end - entry.begin == numel(entry.sizes) * size_of(entry.dtype),
             kValue, what, " has the wrong number of bytes for ", entry.dtype, entry.sizes);
    return entry;
  }

  void read_tensors(const Json& head, TensorFile& file) {
    std::vector<Entry> entries;
    for (size_t i = 0; i < head.keys.size(); i++)
      if (head.keys[i] != "__metadata__") entries.push_back(entry_of(head.keys[i], head.items[i]));
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    int64_t at = 0;
    for (const Entry& entry : entries) {
      TW_CHECK(entry.begin == at, kValue, "tensor \"", entry.name, "\" starts at byte ", entry.begin,
               " of the data, not at ", at);
      at = entry.end;
    }
    TW_CHECK(at == data_bytes_, kValue, "its tensors should have ", at, " bytes, but it holds ", data_bytes_);
    for (const Entry& entry : entries) {
      Tensor tensor = eager::empty(entry.sizes, entry.dtype);
      read_bytes(tensor->storage->data(), entry.end - entry.begin);
      file.tensors.emplace_back(entry.name, std::move(tensor));
    }
  }

  // The tensors have been read in the order of the file, whose checksum is that of its head and of theirs.
  void check(std::string head, const TensorFile& file) {
    size_t at = checksum_place(head);
    TW_CHECK(at != std::string::npos && at + kNoChecksum.size() <= head.size(), kValue, "it has no checksum");
    head.replace(at, kNoChecksum.size(), kNoChecksum);
    uint32_t crc = checksum_of(head, file);
    TW_CHECK(hex_of(crc) == checksum_, kValue, "it is damaged: its checksum is ", hex_of(crc),
             " and should be ", checksum_);
  }

  std::ifstream stream_;
  int64_t size_ = 0, data_bytes_ = 0;
  std::string checksum_;
};

}  // namespace

const std::string* TensorFile::metadata_of(const std::string& key) const {
  for (const auto& [known, text] : metadata)
    if (known == key) return &text;
  return nullptr;
}

void write_tensor_file(const std::string& path, const TensorFile& file) {
  std::string head = head_of(file);
  head.replace(checksum_place(head), kNoChecksum.size(), hex_of(checksum_of(head, file)));
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << length_bytes(head.size()) << head;
  for (const auto& [name, tensor] : file.tensors)
    stream.write(static_cast<const char*>(tensor->data()), bytes_of(tensor));
  stream.close();
  TW_CHECK(stream, kOs, path, ": cannot be written: ", std::strerror(errno));
}

TensorFile read_tensor_file(const std::string& path, const std::string& format) {
  return Reader(path).read(format);
}

}  // namespace tw::session
