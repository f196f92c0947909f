#include "runtime/engine.h"

#include <pthread.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/limits.h"
#include "plan/order.h"

namespace tw::runtime {

namespace {

// Looks at a mailbox before sleeping, when there is a core for every thread that looks.
constexpr int kSpins = 100;

bool is_host(plan::StreamKind kind) {
  return kind == plan::StreamKind::kHostInput || kind == plan::StreamKind::kHostOutput;
}

}  // namespace

Engine::Engine(const plan::Plan& plan, const std::vector<std::unique_ptr<Chain>>& chains,
               const EngineOptions& options)
    : steps(options.steps_in_flight),
      plan_(plan),
      observer_(*options.observer),
      actors_(plan.actors.size()),
      process_(getpid()) {
  for (const plan::Edge& edge : plan::edges_of(plan)) {
    int number = static_cast<int>(edges_.size());
    edges_.push_back({edge});
    actors_[edge.consumer].inputs.push_back(number);
    actors_[edge.producer].outputs.push_back(number);
  }
  for (size_t a = 0; a < actors_.size(); a++) {
    actors_[a].number = static_cast<int>(a);
    actors_[a].plan = &plan.actors[a];
    actors_[a].chain = chains[a].get();
    counted_actors_ += plan.actors[a].kind != plan::ActorKind::kHostInput;
  }
  make_workers(options.workers);
  // A single worker, with nothing of the host beside it, always is the caller.
  caller_works_ = spinning_ > 0 && (options.caller_works || workers_.size() == 1);
  reset();
  start_threads();
}

// Whether a chain can run while a communication is under way.
bool Engine::overlaps() const {
  plan::Order order(plan_);
  for (const ActorState& comm : actors_) {
    if (comm.plan->kind != plan::ActorKind::kComm) continue;
    for (const ActorState& chain : actors_)
      if (chain.plan->kind == plan::ActorKind::kChain && !chain.plan->launches.empty() &&
          !order.before(comm.number, chain.number) && !order.before(chain.number, comm.number))
        return true;
  }
  return false;
}

// Streams without actors have no worker; those that run chains go round the chain workers; host streams have
// a worker each, and communication has one where it has any use. Returns how many there are.
int Engine::place_streams(int limit) {
  std::vector<char> used(plan_.streams.size(), false);
  for (const plan::Actor& actor : plan_.actors) used[actor.stream] = true;
  int chains = 0;
  bool comms = false;
  for (size_t s = 0; s < used.size(); s++) {
    bool comm = plan_.streams[s].kind == plan::StreamKind::kComm;
    chains += used[s] && !comm && !is_host(plan_.streams[s].kind);
    comms |= used[s] && comm;
  }
  int cores = device::usable_cores();
  chain_workers_ = std::min(chains, limit > 0 ? limit : cores);
  int next_chain = 0, workers = std::max(chain_workers_, comms ? 1 : 0), comm_worker = 0;
  // Who looks for messages on a core that another process needs makes that one wait for a whole time slice.
  const int own = comm::cores_of_process(cores);
  if (comms && own > 1 && limit != 1 && overlaps()) comm_worker = workers++;
  spinning_ = workers;
  spins_ = spinning_ <= own ? kSpins : 0;
  caller_spins_ = spinning_ < own ? kSpins : 0;
  for (const plan::Stream& stream : plan_.streams)
    worker_of_stream_.push_back(stream.kind == plan::StreamKind::kComm ? comm_worker
                                : is_host(stream.kind) ? workers++
                                                       : next_chain++ % std::max(chain_workers_, 1));
  return workers;
}

void Engine::make_workers(int limit) {
  int count = place_streams(limit);
  auto worker_of = [&](int actor) { return worker_of_stream_[plan_.actors[actor].stream]; };
  // News of steps, a stop and a quit, and for every register at most as many messages as it has slots.
  std::vector<size_t> most(count, 4);
  for (const EdgeState& state : edges_) {
    size_t slots = plan_.registers[state.edge.reg].slots;
    most[worker_of(state.edge.consumer)] += slots;
    most[worker_of(state.edge.producer)] += slots;
  }
  for (int w = 0; w < count; w++) workers_.push_back(std::make_unique<Worker>(*this, w, most[w]));
  for (ActorState& actor : actors_) workers_[worker_of(actor.number)]->add(&actor);
}

void Engine::start_threads() {
  const size_t first = caller_works_ ? 1 : 0;
  try {
    for (size_t w = first; w < workers_.size(); w++) {
      int spins = static_cast<int>(w) < spinning_ ? spins_ : 0;
      threads_.push_back(
          std::make_unique<std::thread>([worker = workers_[w].get(), spins] { worker->run(spins); }));
      pthread_setname_np(threads_.back()->native_handle(), spins || w == 0 ? "tw-worker" : "tw-host");
    }
  } catch (...) {
    for (size_t t = 0; t < threads_.size(); t++) {
      workers_[first + t]->mailbox.push(kQuitMessage);
      threads_[t]->join();
    }
    throw;
  }
}

Engine::~Engine() {
  if (threads_.empty()) return;
  if (getpid() != process_) {  // the threads are the parent's
    for (auto& thread : threads_) static_cast<void>(thread.release());
    return;
  }
  stop_all(std::make_exception_ptr(
      Error(ErrorKind::kRuntime, "run: the executable was destroyed before the end")));
  if (caller_works_) workers_[0]->run_until_idle();
  {
    std::unique_lock lock(steps.mutex);
    resumed_.wait(lock, [&] { return !stopping_; });
  }
  for (auto& worker : workers_) worker->mailbox.push(kQuitMessage);
  for (auto& thread : threads_) thread->join();
}

// The place that the next step takes, when the step that had it is done and its error is known to somebody.
Step& Engine::place_for_next(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    resumed_.wait(lock, [&] { return !stopping_; });
    Step& step = steps.at(started_);
    if (step.done()) {
      StepRing::throw_news(step);
      return step;
    }
    lock.unlock();
    caller_works_ ? work_until(step.number) : step.wait(0);
    lock.lock();
  }
}

int64_t Engine::start(const Bindings& bindings, const BindingLayout& layout) {
  TW_CHECK(threads_.empty() || getpid() == process_, kRuntime,
           "run: the workers of this executable are in the process that was forked");
  if (caller_works_) work();  // it may have to stop with the others
  std::unique_lock lock(steps.mutex);
  Step& step = place_for_next(lock);
  layout.fill(bindings, &step.bindings);
  step.failure = nullptr;
  step.touched = false;
  step.remaining = counted_actors_;
  step.state = Step::kRuns;
  int64_t number = step.number = started_++;
  for (auto& worker : workers_) worker->tell_step();
  lock.unlock();
  if (caller_works_) work();
  return number;
}

void Engine::work() {
  std::lock_guard caller(caller_mutex_);
  workers_[0]->run_until_idle();
}

// The caller as the first worker, until a step is done. Others that wait meanwhile get their turn then.
// Without other workers it is the host that is waited for, for longer than a look at the mailbox takes.
void Engine::work_until(int64_t number) {
  std::lock_guard caller(caller_mutex_);
  for (;;) {
    workers_[0]->run_until_idle();
    if (steps.done(number)) return;
    workers_[0]->mailbox.wait(spinning_ > 1 ? spins_ : 0);
  }
}

void Engine::wait(int64_t number) {
  if (caller_works_ && !steps.done(number)) work_until(number);
  steps.wait(number, caller_spins_);
}

void Engine::actor_done(int64_t number) {
  Step& step = steps.at(number);
  if (step.remaining.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  step.finish();
  if (caller_works_ && !threads_.empty()) workers_[0]->tell_step();  // who waits may sleep as that worker
}

void Engine::fail(int64_t number, std::exception_ptr error, bool touched) {
  if (touched) steps.at(number).touched.store(true, std::memory_order_relaxed);
  stop_all(std::move(error));
}

void Engine::stop_all(std::exception_ptr cause) {
  std::string reason;
  {
    std::lock_guard lock(steps.mutex);
    if (stopping_) return;  // the first cause counts
    stopping_ = true;
    bool running = std::ranges::any_of(steps.all(), [](const Step& step) { return !step.done(); });
    reason = reason_ = running ? reason_of(cause) : "";
    cause_ = std::make_shared<Failure>(std::move(cause));
    for (auto& worker : workers_) worker->mailbox.push(kStopMessage);
  }
  // The caller is a worker that has not stopped yet, or the destructor: no other run begins meanwhile.
  for (ActorState& actor : actors_) {
    actor.chain->cancel();
    if (!reason.empty() && actor.chain->meets()) actor.chain->give_up(reason);
  }
}

void Engine::stop_here(Worker& worker) {
  std::unique_lock lock(steps.mutex);
  if (!reason_.empty()) {
    std::string reason = reason_;
    lock.unlock();
    worker.give_up(reason);
    lock.lock();
  }
  uint64_t stop = stops_;
  if (++stopped_ < static_cast<int>(workers_.size())) {
    resumed_.wait(lock, [&] { return stops_ != stop; });
    return;
  }
  reset();
  for (Step& step : steps.all()) {
    if (step.done()) continue;
    step.failure = cause_;
    step.finish();
  }
  cause_ = nullptr;
  reason_.clear();
  stopped_ = 0;
  stopping_ = false;
  stops_++;
  resumed_.notify_all();
}

void Engine::reset() {
  for (auto& worker : workers_) worker->reset(started_);
  for (EdgeState& state : edges_) {
    const plan::Register& reg = plan_.registers[state.edge.reg];
    state.data = reg.initial;
    state.free = reg.slots - reg.initial;
  }
}

}  // namespace tw::runtime
