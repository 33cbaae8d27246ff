#include "cli/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>

#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OutputFiles : public FolderTest {
 protected:
  static std::string text_of(const fs::path& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  static OutputFile found(const fs::path& path) {
    OutputFile file;
    const Status status = OutputFile::find("--csv", path, &file);
    EXPECT_TRUE(status.ok()) << status.message();
    return file;
  }

  /// What write() leaves at `path`, which is to be given by `name`.
  static std::string written(const fs::path& name, const fs::path& path) {
    const Status status = found(name).write("fresh");
    EXPECT_TRUE(status.ok()) << status.message();
    return text_of(path);
  }

  static Status refused(const fs::path& path) {
    OutputFile file;
    return OutputFile::find("--csv", path, &file);
  }

  /// Runs `child` in a process of its own, and says how that ended (waitpid).
  static int in_a_process(const std::function<void()>& child) {
    const pid_t process = fork();
    if (process == 0) {
      child();
      std::_Exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    return status;
  }

  /// Says when it begins by a byte into `ready`.
  static void write_until_killed(const fs::path& path, int ready) {
    const OutputFile file = found(path);
    const std::string text(std::size_t{8} << 20, 'x');
    if (write(ready, "r", 1) != 1) return;
    while (file.write(text).ok()) {
    }
  }

  fs::path make_file(const char* name) {
    std::ofstream(folder_ / name) << "old and longer";
    return folder_ / name;
  }
};

TEST_F(OutputFiles, AreReplacedAsAWhole) {
  const fs::path path = make_file("results.csv");
  EXPECT_EQ(written(path, path), "fresh");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(OutputFiles, MayHaveTheLongestName) {
  const fs::path path = folder_ / std::string(255, 'r');
  EXPECT_EQ(written(path, path), "fresh");
}

TEST_F(OutputFiles, AreFoundByRelativePaths) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const OutputFile file = found("./results.csv");
  fs::current_path(before);
  EXPECT_EQ(file.path(), folder_ / "results.csv");
}

TEST_F(OutputFiles, AreWrittenBehindLinks) {
  const fs::path target = make_file("target.csv");
  const fs::path link = folder_ / "link.csv";
  fs::create_symlink("target.csv", link);
  EXPECT_EQ(written(link, target), "fresh");
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST_F(OutputFiles, LinksToNothingAreRefused) {
  fs::create_symlink("nothing.csv", folder_ / "link.csv");
  EXPECT_THAT(refused(folder_ / "link.csv").message(), HasSubstr("link to a file that does not exist"));
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(OutputFiles, CheckLeavesNothingBehind) {
  EXPECT_TRUE(refused(folder_ / "results.csv").ok());
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(OutputFiles, FolderThatDoesNotExistIsNamed) {
  const fs::path path = folder_ / "missing" / "results.csv";
  fs::create_directory(folder_ / "missing");
  const OutputFile file = found(path);
  fs::remove(folder_ / "missing");
  for (const Status& status : {refused(path), file.write("x")}) {
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_THAT(status.message(),
                HasSubstr("--csv cannot write '" + path.string() + "': No such file or directory"));
  }
}

TEST_F(OutputFiles, FoldersAreNoFiles) {
  EXPECT_THAT(refused(folder_).message(), HasSubstr("neither a regular file nor a pipe or terminal"));
}

TEST_F(OutputFiles, ReadOnlyFileIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write every file";
  const fs::path path = make_file("results.csv");
  fs::permissions(path, fs::perms::owner_read);
  EXPECT_THAT(refused(path).message(), HasSubstr("Permission denied"));
}

TEST_F(OutputFiles, FailedRenameLeavesNothingBehind) {
  const fs::path occupied = folder_ / "occupied";
  fs::create_directories(occupied / "by_something");
  const fs::path path = folder_ / "results";
  const OutputFile file = found(path);
  fs::rename(occupied, path);
  EXPECT_FALSE(file.write("x").ok());
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(OutputFiles, SameFileUnderTwoNames) {
  const fs::path path = make_file("results.csv");
  fs::create_hard_link(path, folder_ / "other.csv");
  const OutputFile file = found(path);
  EXPECT_TRUE(is_same_file(file, file));
  EXPECT_TRUE(is_same_file(file, found(folder_ / "other.csv")));
  EXPECT_FALSE(is_same_file(file, found(folder_ / "absent.csv")));
  EXPECT_FALSE(is_same_file(found(folder_ / "absent.json"), found(folder_ / "absent.csv")));
  EXPECT_FALSE(is_same_file(OutputFile(), OutputFile()));
}

TEST_F(OutputFiles, KeepTheirPermissions) {
  const fs::path path = make_file("results.csv");
  for (const int mode : {0600, 0664, 0755}) {
    ASSERT_EQ(chmod(path.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_EQ(written(path, path), "fresh");
    EXPECT_EQ(static_cast<int>(fs::status(path).permissions()), mode);
  }
}

TEST_F(OutputFiles, FullDisksLoseNothing) {
  // A limit on the size of files fails as a full disk does, once its signal is ignored (main.cpp).
  const fs::path path = make_file("results.csv");
  const int status = in_a_process([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4, 4};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status failed = found(path).write("longer than the limit");
    const bool as_expected = failed.code() == StatusCode::InvalidArgument &&
                             failed.message().find("File too large") != std::string::npos;
    std::_Exit(as_expected ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(path), "old and longer");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(OutputFiles, SignalsLeaveNothingBehind) {
  for (const int signal_number : {SIGHUP, SIGINT, SIGTERM}) {
    const fs::path path = make_file("results.csv");
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t process = fork();
    if (process == 0) {
      write_until_killed(path, ready[1]);
      std::_Exit(1);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(process, signal_number);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal_number);
    close(ready[0]);
    close(ready[1]);
    EXPECT_EQ(files_in_folder(), 1U) << signal_number;
  }
}

TEST_F(OutputFiles, PipesAreWrittenThrough) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread reader([&] { EXPECT_EQ(text_of(path), "fresh"); });
  const OutputFile file = found(path);
  EXPECT_TRUE(file.is_stream());
  EXPECT_TRUE(file.write("fresh").ok());
  reader.join();
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(OutputFiles, DevicesAreWrittenThrough) {
  EXPECT_TRUE(found("/dev/null").write("nothing").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const Status full = found("/dev/full").write("something");
  EXPECT_THAT(full.message(), HasSubstr("--csv cannot write '/dev/full': No space left on device"));
}

TEST_F(OutputFiles, TheStandardOutputGetsItBehindWhatItHas) {
  const fs::path path = folder_ / "output";
  const int status = in_a_process([&] {
    if (std::freopen(path.c_str(), "w", stdout) == nullptr) std::_Exit(1);
    std::cout << "a table\n";
    const OutputFile file = found("/dev/stdout");
    const bool written = file.is_stream() && file.write("a report\n").ok();
    std::cout << "an end\n" << std::flush;
    std::_Exit(written ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(path), "a table\na report\nan end\n");
  EXPECT_EQ(files_in_folder(), 1U);
}

}  // namespace
}  // namespace hopper_gemm
