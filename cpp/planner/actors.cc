#include "planner/actors.h"

#include <algorithm>
#include <set>

#include "ir/cost.h"
#include "machine/machine.h"

namespace tw::planner {

namespace {

// Of a thread that sleeps, and of one that looks for messages.
constexpr double kMeetingSeconds = 50e-6;

// The devices in whose memory a step works. What is only read all the while is no matter.
std::vector<int> devices_of(const MemoryLayout& layout, size_t number) {
  std::vector<int> devices;
  for (const auto* places : {&layout.steps[number].inputs, &layout.steps[number].outputs})
    for (const Place& place : *places) {
      if (place.buffer < 0) continue;
      const Buffer& buffer = layout.buffers[place.buffer];
      bool fixed = buffer.kind == plan::SegmentKind::kInput || buffer.kind == plan::SegmentKind::kConstant ||
                   (buffer.kind == plan::SegmentKind::kVariable && number < layout.commit);
      if (!fixed && std::ranges::find(devices, buffer.device) == devices.end())
        devices.push_back(buffer.device);
    }
  if (devices.empty()) devices.push_back(0);
  std::ranges::sort(devices);
  return devices;
}

class Cutter {
 public:
  Cutter(const MemoryLayout& layout, bool stream_a_device)
      : layout_(layout),
        devices_(stream_a_device ? std::max<size_t>(layout.ranks.size(), 1) : 1),
        open_(devices_),
        after_(devices_),
        landed_for_(devices_, -1) {}

  std::vector<ActorSteps> run() {
    if (devices_ > 1 || (!layout_.flights.empty() && layout_.flights[0].step == 0)) begin();
    for (size_t i = 0; i < layout_.steps.size(); i++) {
      land(i);
      if (devices_ > 1 && i == layout_.commit) join();
      add(i);
    }
    land(layout_.steps.size());
    close_all();
    if (actors_.size() != 1) end();
    return std::move(actors_);
  }

 private:
  // An actor that everything comes after.
  void begin() {
    actors_.emplace_back();
    for (auto& after : after_) after = {0};
  }

  int push(ActorSteps actor) {
    actors_.push_back(std::move(actor));
    return static_cast<int>(actors_.size()) - 1;
  }

  void close(size_t device) {
    if (open_[device].empty()) return;
    ActorSteps chain{std::move(open_[device]), false, static_cast<int>(device), {}};
    std::set<int> after;
    wait(device, after);
    chain.after.assign(after.begin(), after.end());
    open_[device].clear();
    come_after(device, push(std::move(chain)));
  }

  // What an actor of the device that is no crossing waits for.
  void wait(size_t device, std::set<int>& after) const {
    after.insert(after_[device].begin(), after_[device].end());
    if (landed_for_[device] >= 0) after.insert(landed_for_[device]);
  }
  void come_after(size_t device, int actor) {
    after_[device] = {actor};
    landed_for_[device] = -1;
  }

  void close_all() {
    for (size_t device = 0; device < devices_; device++) close(device);
  }

  void add(size_t step) {
    bool crossing = begun_ < layout_.flights.size() && layout_.flights[begun_].step == step;
    std::vector<int> devices = devices_ > 1 ? devices_of(layout_, step) : std::vector<int>{0};
    const bool meets = layout_.meetings.contains(step);
    if (!crossing && devices.size() == 1 && !(meets && devices_ > 1))
      return open_[devices[0]].push_back(step);
    for (int device : devices) close(device);
    ActorSteps actor{{step}, crossing, devices[0], {}};
    std::set<int> after;
    for (int device : devices) {
      if (crossing)
        after.insert(after_[device].begin(), after_[device].end());
      else
        wait(device, after);
    }
    if ((crossing || meets) && last_meeting_ >= 0) after.insert(last_meeting_);
    actor.after.assign(after.begin(), after.end());
    int number = push(std::move(actor));
    if (crossing || meets) last_meeting_ = number;
    if (crossing) {
      begun_++;
      crossings_.push_back(number);
    } else {
      for (int device : devices) come_after(device, number);
    }
  }

  // What comes from here on waits for the last of the crossings that are over by now: the others ended before
  // it.
  void land(size_t step) {
    size_t landed = landed_;
    while (landed < begun_ && layout_.flights[landed].done <= step) landed++;
    if (landed == landed_) return;
    close_all();
    landed_ = landed;
    std::ranges::fill(landed_for_, crossings_[landed - 1]);
  }

  // What comes from here on waits for everything before.
  void join() {
    close_all();
    std::set<int> all;
    for (size_t device = 0; device < devices_; device++) wait(device, all);
    for (size_t device = 0; device < devices_; device++) {
      after_[device].assign(all.begin(), all.end());
      landed_for_[device] = -1;
    }
  }

  // The last actor waits for all others, unless it does so already.
  void end() {
    join();
    bool chain = !actors_.empty() && !actors_.back().crossing;
    int last = static_cast<int>(actors_.size()) - 1;
    if (chain && after_[0] == std::vector<int>{last}) return;
    ActorSteps closing;
    closing.after = after_[0];
    push(std::move(closing));
  }

  const MemoryLayout& layout_;
  const size_t devices_;
  std::vector<ActorSteps> actors_;
  std::vector<std::vector<size_t>> open_;  // steps of the chain that is being put together, by device
  std::vector<std::vector<int>>
      after_;                      // what the next actor of a device waits for: those of a device before,
  std::vector<int> landed_for_;    // and, but for crossings, the last one that is over; -1: none
  std::vector<int> crossings_;     // actors
  int last_meeting_ = -1;          // the actor in which processes met last, unless it is an open chain
  size_t begun_ = 0, landed_ = 0;  // flights
};

}  // namespace

std::vector<ActorSteps> cut_actors(const MemoryLayout& layout, bool stream_a_device) {
  return Cutter(layout, stream_a_device).run();
}

bool gains_by_streams(const MemoryLayout& layout) {
  if (layout.ranks.size() < 2) return false;
  const machine::Machine machine;
  double seconds = 0;
  int meetings = 1;
  for (size_t i = 0; i < layout.steps.size(); i++) {
    if (devices_of(layout, i).size() > 1) meetings++;
    if (!layout.steps[i].node) continue;
    ir::Cost cost = ir::cost_of(*layout.steps[i].node);
    seconds += std::max(static_cast<double>(cost.flops) / machine.flops_per_second,
                        static_cast<double>(cost.bytes) / machine.memory_bytes_per_second);
  }
  return seconds / static_cast<double>(layout.ranks.size()) > 2 * kMeetingSeconds * meetings;
}

}  // namespace tw::planner
