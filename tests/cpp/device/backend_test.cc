#include "device/backend.h"

#include <cstring>
#include <vector>

#include "test.h"

namespace tw::device {

TEST(device_names_round_trip) {
  for (const char* text : {"cpu", "cpu:2", "cuda:0", "cuda:13"}) CHECK_EQ(name_of(parse_device(text)), text);
  CHECK_EQ(name_of(parse_device("cuda")), "cuda:0");
  CHECK_EQ(name_of(parse_device("cpu:0")), "cpu");
  for (const char* text : {"", "gpu", "cpu:", "cpu:x", "cpu:1x", "cuda:-1", "cuda:99999999999"})
    CHECK_THROWS(Error, parse_device(text), "device: ");
}

TEST(cpu_backend_moves_bytes_and_marks_events) {
  Backend& cpu = cpu_backend();
  CHECK_EQ(static_cast<int>(cpu.type()), static_cast<int>(DeviceType::kCpu));
  for (size_t size : {size_t{0}, size_t{7}, size_t{5'000'001}}) {
    std::vector<char> source(size);
    for (size_t i = 0; i < size; i++) source[i] = static_cast<char>(i * 31);
    void* data = cpu.allocate(size, 0);
    cpu.copy(data, source.data(), size, cpu.current_stream(0));
    CHECK(size == 0 || std::memcmp(data, source.data(), size) == 0);
    cpu.free(data, size, 0);
  }
  Ref<Event> event = cpu.make_event(0);
  event->record(cpu.current_stream(0));
  event->wait();
  CHECK(event->done());
}

}  // namespace tw::device
