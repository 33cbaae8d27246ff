#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace hopper_gemm {

/// The kind of failure that a `Status` reports. Its message says which value was wrong, and which values are allowed.
enum class StatusCode {
  Ok,
  InvalidArgument,  ///< no GEMM can take this value: a negative extent, a null pointer, too short a leading dimension
  Unsupported,  ///< a valid GEMM that this kernel, GPU or driver cannot run
  OutOfMemory,  ///< an allocation failed, on the GPU or on the host
  Timeout,      ///< a kernel did not finish in time and is taken to hang; the CUDA context is lost
  CudaError,    ///< the CUDA runtime or driver refused a call; the message carries its name and text
};

/// The enumerator's name, for messages and logs.
constexpr std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::Ok: return "Ok";
    case StatusCode::InvalidArgument: return "InvalidArgument";
    case StatusCode::Unsupported: return "Unsupported";
    case StatusCode::OutOfMemory: return "OutOfMemory";
    case StatusCode::Timeout: return "Timeout";
    case StatusCode::CudaError: return "CudaError";
  }
  return "Unknown";
}

/// The outcome of an operation. The library returns it and never prints, throws or exits.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// `code` must not be `StatusCode::Ok`. `message` is one sentence that a user can act on, without a full stop.
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  /// Whether the operation succeeded.
  bool ok() const { return code_ == StatusCode::Ok; }
  /// The kind of failure, or StatusCode::Ok.
  StatusCode code() const { return code_; }
  /// What was wrong, for the user. It is empty on success.
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A Status of StatusCode::InvalidArgument.
inline Status invalid_argument(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}
/// A Status of StatusCode::Unsupported.
inline Status unsupported(std::string message) { return {StatusCode::Unsupported, std::move(message)}; }
/// A Status of StatusCode::OutOfMemory.
inline Status out_of_memory(std::string message) { return {StatusCode::OutOfMemory, std::move(message)}; }

}  // namespace hopper_gemm

/// Returns from the enclosing function with the Status of `expression`, unless that is Ok.
#define HG_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                        \
    if (::hopper_gemm::Status hg_status_ = (expression); !hg_status_.ok()) return hg_status_; \
  } while (false)
