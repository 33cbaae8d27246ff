// Captures a GEMM, D = A·B + D, into a CUDA graph once, and launches the graph five times.
#include <hopper_gemm/gemm.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "example.h"

namespace {

constexpr int kM = 256;
constexpr int kN = 384;
constexpr int kK = 128;
constexpr int kLaunches = 5;

void check(const hopper_gemm::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  std::exit(EXAMPLE_FAILED);
}

}  // namespace

int main() {
  example_require_gpu();
  std::vector<std::uint16_t> a(kM * kK);
  std::vector<std::uint16_t> b(kK * kN);
  std::vector<float> d(kM * kN);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = example_bf16(example_integer(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = example_bf16(example_integer(i + 11));

  hopper_gemm::GemmDescriptor gemm;
  gemm.m = kM;
  gemm.n = kN;
  gemm.k = kK;
  gemm.output_type = hopper_gemm::DataType::Float32;
  hopper_gemm::GemmPlan plan;
  check(plan.create(gemm), "create");

  // All operands of the captured launches must live as long as the graph.
  hopper_gemm::GemmOperands operands;
  operands.a = example_to_gpu(a.data(), a.size() * sizeof a[0]);
  operands.b = example_to_gpu(b.data(), b.size() * sizeof b[0]);
  operands.d = example_to_gpu(d.data(), d.size() * sizeof d[0]);
  operands.c = operands.d;
  operands.beta = 1;

  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXAMPLE_CUDA(cudaStreamCreate(&stream));
  EXAMPLE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  check(plan.run(operands, stream), "run");
  EXAMPLE_CUDA(cudaStreamEndCapture(stream, &graph));
  EXAMPLE_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < kLaunches; ++i) EXAMPLE_CUDA(cudaGraphLaunch(executable, stream));
  EXAMPLE_CUDA(cudaStreamSynchronize(stream));
  EXAMPLE_CUDA(cudaMemcpy(d.data(), operands.d, d.size() * sizeof d[0], cudaMemcpyDeviceToHost));

  int wrong = 0;
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      float sum = 0;
      for (int i = 0; i < kK; ++i) sum += example_float(a[row * kK + i]) * example_float(b[i * kN + column]);
      wrong += d[row * kN + column] != kLaunches * sum ? 1 : 0;
    }
  }
  std::printf("%s, %d launches of the graph: %d of %d elements are wrong\n", plan.config().c_str(), kLaunches,
              wrong, kM * kN);
  EXAMPLE_CUDA(cudaGraphExecDestroy(executable));
  EXAMPLE_CUDA(cudaGraphDestroy(graph));
  EXAMPLE_CUDA(cudaDeviceReset());
  return wrong == 0 ? EXAMPLE_PASSED : EXAMPLE_FAILED;
}
