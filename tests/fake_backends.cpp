#include "fake_backends.hpp"

#include <memory>

#include "gemm/host/interleave.hpp"

namespace hopper_gemm::library {

FakeBackend fake_wgmma;
FakeBackend fake_mma;

namespace {

class FakeGemm : public PreparedGemm {
 public:
  FakeGemm(FakeBackend* backend, std::string config) : backend_(backend), config_(std::move(config)) {}

  Status launch(const KernelArgs& args, void* workspace, cudaStream_t) const override {
    backend_->launched.push_back(args);
    backend_->workspaces.push_back(workspace);
    return backend_->launch;
  }
  std::size_t workspace_bytes() const override { return backend_->workspace_bytes; }
  const std::string& config() const override { return config_; }
  std::string explain() const override { return "the fake's reasons"; }

 private:
  FakeBackend* backend_;
  std::string config_;
};

constexpr std::array<std::string_view, 1> kWgmmaFamilies = {"wgmma"};
constexpr std::array<std::string_view, 1> kMmaSyncFamilies = {"mma_sync"};

Status prepare(FakeBackend* backend, const std::string& name, const Problem& problem, const Device& device,
               const std::string& config, std::unique_ptr<const PreparedGemm>* prepared) {
  HG_RETURN_IF_ERROR(backend->prepare);
  const std::string only = name + "_fake";
  if (!config.empty() && config != only) return invalid_argument("there is no configuration " + config);
  backend->prepared.push_back(problem);
  backend->devices.push_back(device);
  *prepared = std::make_unique<FakeGemm>(backend, only);
  return {};
}

}  // namespace

const Backend& wgmma_backend() {
  static const Backend backend = {
      .name = "wgmma",
      .families = kWgmmaFamilies,
      .can_implement = [](const Problem&, const Device&) { return fake_wgmma.can_implement; },
      .prepare =
          [](const Problem& problem, const Device& device, const std::string& config, auto* prepared) {
            return prepare(&fake_wgmma, "wgmma", problem, device, config, prepared);
          },
      .configs = [] { return std::vector<std::string>{"wgmma_fake"}; },
      .ranked_configs = [](const Problem&, const Device&) { return std::vector<std::string>{"wgmma_fake"}; }};
  return backend;
}

const Backend& mma_sync_backend() {
  static const Backend backend = {
      .name = "mma_sync",
      .families = kMmaSyncFamilies,
      .can_implement = [](const Problem&, const Device&) { return fake_mma.can_implement; },
      .prepare =
          [](const Problem& problem, const Device& device, const std::string& config, auto* prepared) {
            return prepare(&fake_mma, "mma_sync", problem, device, config, prepared);
          },
      .configs = [] { return std::vector<std::string>{"mma_sync_fake"}; },
      .ranked_configs = [](const Problem&,
                           const Device&) { return std::vector<std::string>{"mma_sync_fake"}; }};
  return backend;
}

void reset_fake_backends() {
  fake_wgmma = {};
  fake_mma = {};
}

Status launch_interleave(const KernelArgs&, const OperandArgs&, const void*, const void*, void*,
                         cudaStream_t) {
  return {};
}

}  // namespace hopper_gemm::library
