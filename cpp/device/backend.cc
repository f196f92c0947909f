#include "device/backend.h"

#include <charconv>

namespace tw::device {

std::string name_of(Device device) {
  if (device.type == DeviceType::kCpu && device.index == 0) return "cpu";
  return cat(device.type == DeviceType::kCpu ? "cpu:" : "cuda:", device.index);
}

Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  TW_CHECK(kind == "cpu" || kind == "cuda", kValue, "device: 'cpu', 'cuda' or 'cuda:N' is wanted, got '",
           text, "'");
  Device device{kind == "cpu" ? DeviceType::kCpu : DeviceType::kCuda, 0};
  if (colon == std::string_view::npos) return device;
  std::string_view index = text.substr(colon + 1);
  auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), device.index);
  bool whole = error == std::errc() && end == index.data() + index.size() && device.index >= 0;
  TW_CHECK(whole, kValue, "device: the index must be a whole number from 0, got '", text, "'");
  return device;
}

}  // namespace tw::device
