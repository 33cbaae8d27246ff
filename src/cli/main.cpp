#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "benchmark/platform.hpp"
#include "cli/app.hpp"
#include "emulator/emulated_ladder.hpp"

namespace {

/// This machine, and the emulator.
class Machine : public hopper_gemm::CudaPlatform {
 public:
  std::span<const hopper_gemm::KernelInfo> emulated_kernels() override {
    return hopper_gemm::emulator::emulated_kernels();
  }
};

}  // namespace

int main(int argc, char** argv) {
  // A reader of the output that ends early, such as head, must not end this program before it has written its files.
  std::signal(SIGPIPE, SIG_IGN);
  // If a file grows beyond the limit on its size, writing fails with an error, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  Machine platform;
  const int status =
      hopper_gemm::run_matmul(argc, argv, platform, std::cout, std::cerr, isatty(STDERR_FILENO) == 1);
  // A return would destroy the CUDA context, which waits for a kernel that hangs.
  std::_Exit(status);
}
