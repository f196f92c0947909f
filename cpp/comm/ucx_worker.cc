#include "comm/ucx_worker.h"

#include <cstring>

#include "comm/watcher.h"

namespace tw::comm {

UcxWorker::UcxWorker(Watcher* watcher) {
  const UcxLibrary& ucp = ucx();
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check_ucx(ucp.worker_create(ucx_context(), &wanted, &worker_), "worker");
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = on_message;
  handler.arg = this;
  check_ucx(ucp.worker_set_am_recv_handler(worker_, &handler), "handler");
  int events;
  check_ucx(ucp.worker_get_efd(worker_, &events), "descriptor of events");
  guard_ = std::make_unique<ForkGuard>(events);
  if (watcher) watcher->add(events);
}

UcxWorker::~UcxWorker() {
  guard_ = nullptr;
  if (worker_) ucx().worker_destroy(worker_);
}

std::string UcxWorker::address() const {
  ucp_address_t* address;
  size_t size;
  check_ucx(ucx().worker_get_address(worker_, &address, &size), "address");
  std::string bytes(reinterpret_cast<const char*>(address), size);
  ucx().worker_release_address(worker_, address);
  return bytes;
}

void UcxWorker::set_receiver(int process, UcxReceiver* receiver) {
  if (receiver)
    receivers_[process] = receiver;
  else
    receivers_.erase(process);
}

bool UcxWorker::progress() {
  constexpr int kTurns = 16;  // then others get theirs
  bool any = false;
  for (int turn = 0; turn < kTurns && ucx().worker_progress(worker_) != 0; turn++) any = true;
  return any;
}

bool UcxWorker::arm() { return ucx().worker_arm(worker_) == UCS_OK; }

ucs_status_t UcxWorker::on_message(void* self, const void* header, size_t header_size, void* data,
                                   size_t size, const ucp_am_recv_param_t* param) {
  UcxHeader head;
  if (header_size != sizeof(head)) return UCS_OK;
  std::memcpy(&head, header, sizeof(head));
  auto& receivers = static_cast<UcxWorker*>(self)->receivers_;
  auto found = receivers.find(head.process);
  if (found == receivers.end()) return UCS_OK;  // of a link that has ended
  bool remote = param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV;
  return found->second->receive(head, data, size, remote) ? UCS_INPROGRESS : UCS_OK;
}

UcxRequest UcxWorker::send(ucp_ep_h endpoint, const UcxHeader& header, const char* data, size_t size,
                           bool eager) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_COPY_HEADER | (eager ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV);
  return UcxRequest(ucx().am_send_nbx(endpoint, kMessageId, &header, sizeof(header), data, size, &how));
}

std::shared_ptr<UcxWorker> UcxWorkers::of(uint64_t group) {
  std::lock_guard lock(mutex_);
  std::erase_if(workers_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<UcxWorker> worker = workers_[group].lock();
  if (!worker) workers_[group] = worker = std::make_shared<UcxWorker>(watcher_);
  return worker;
}

UcxRequest::UcxRequest(ucs_status_ptr_t request) {
  if (UCS_PTR_IS_PTR(request)) {
    request_ = request;
    status_ = UCS_INPROGRESS;
  } else {
    status_ = UCS_PTR_STATUS(request);
  }
}

// UCX itself frees one that is still under way once it is over.
UcxRequest::~UcxRequest() {
  if (request_) ucx().request_free(request_);
}

ucs_status_t UcxRequest::status() {
  if (request_) {
    status_ = ucx().request_check_status(request_);
    if (status_ != UCS_INPROGRESS) ucx().request_free(std::exchange(request_, nullptr));
  }
  return status_;
}

}  // namespace tw::comm
