#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gemm/host/backend.hpp"
#include "hopper_gemm/status.hpp"

namespace hopper_gemm::library {

/// A back end that computes nothing and remembers what it was asked for. wgmma_backend() and mma_sync_backend() are two of
/// these wherever fake_backends.cpp is linked.
struct FakeBackend {
  Status can_implement;  ///< what it answers
  Status prepare;        ///< the same; a configuration other than "<name>_fake" there is not
  Status launch;         ///< the same
  std::size_t workspace_bytes = 0;
  std::vector<Problem> prepared;
  std::vector<Device> devices;  ///< for which that was prepared
  std::vector<KernelArgs> launched;
  std::vector<void*> workspaces;  ///< of the launches
};

extern FakeBackend fake_wgmma;
extern FakeBackend fake_mma;

/// As they are at the start of the program: can do everything, have done nothing.
void reset_fake_backends();

}  // namespace hopper_gemm::library
