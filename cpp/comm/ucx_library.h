// UCX, loaded at run time from where ucx_path.h says.
#pragma once

#include <ucp/api/ucp.h>

#include "comm/ucx_path.h"

namespace tw::comm {

// The calls that are used, under their names without `ucp_`.
struct UcxLibrary {
  decltype(&ucp_get_version) get_version;
  decltype(&ucp_init_version) init_version;
  decltype(&ucp_config_read) config_read;
  decltype(&ucp_config_modify) config_modify;
  decltype(&ucp_config_release) config_release;
  decltype(&ucp_worker_create) worker_create;
  decltype(&ucp_worker_destroy) worker_destroy;
  decltype(&ucp_worker_get_address) worker_get_address;
  decltype(&ucp_worker_release_address) worker_release_address;
  decltype(&ucp_worker_get_efd) worker_get_efd;
  decltype(&ucp_worker_arm) worker_arm;
  decltype(&ucp_worker_progress) worker_progress;
  decltype(&ucp_worker_set_am_recv_handler) worker_set_am_recv_handler;
  decltype(&ucp_ep_create) ep_create;
  decltype(&ucp_ep_close_nbx) ep_close_nbx;
  decltype(&ucp_am_send_nbx) am_send_nbx;
  decltype(&ucp_am_recv_data_nbx) am_recv_data_nbx;
  decltype(&ucp_am_data_release) am_data_release;
  decltype(&ucp_request_check_status) request_check_status;
  decltype(&ucp_request_free) request_free;
  decltype(&ucs_status_string) status_string;
};

// Throws kComm where there is none.
const UcxLibrary& ucx();
// The process's own context, made when first wanted. Never destroyed.
ucp_context_h ucx_context();

// Throws kComm: "UCX: what: Destination is unreachable".
void check_ucx(ucs_status_t status, const char* what);

}  // namespace tw::comm
