#include "artifacts/packages.h"

#include <gmock/gmock.h>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class packages : public folder_test {
 protected:
  packages() {
    m_places.path_variable = (folder() / "bin").string();
    m_places.home = folder() / "home";
    m_places.dpkg_status = folder() / "status";
    m_places.local_prefix = folder() / "local";
    write("status", "");
  }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((folder() / file).parent_path());
    std::ofstream(folder() / file) << text;
  }

  /// A virtual environment with the folders of installed packages.
  std::string environment(const std::string& name, const std::vector<std::string>& installed) const {
    write(name + "/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
    write(name + "/bin/python3",
          "\x7f"
          "ELF");
    for (const std::string& package : installed)
      fs::create_directories(folder() / name / "lib/python3.11/site-packages" / package);
    return (folder() / name / "bin/python3").string();
  }

  std::map<std::string, std::string> versions(const std::vector<std::string>& command) const {
    std::map<std::string, std::string> found;
    for (const auto& [name, version] : gather_packages(command, folder(), m_places))
      found[name] = version ? *version : "? " + version.reason();
    return found;
  }

  package_places m_places;
};

using package_texts = std::map<std::string, std::string>;

TEST_F(packages, are_those_of_the_environment_whose_python_the_command_starts) {
  const std::string python =
      environment("venv", {"torch-2.11.0+cu130.dist-info", "PyYAML-6.0-py3.11.egg-info",
                           "flash_attn-2.8.dist-info", "torch", "no_version.dist-info", "-1.dist-info"});
  const package_texts all{{"pip flash-attn", "2.8"}, {"pip pyyaml", "6.0"}, {"pip torch", "2.11.0+cu130"}};
  EXPECT_EQ(versions({python, "bench.py"}), all);
  EXPECT_EQ(versions({"venv/bin/python3", "bench.py"}), all) << "from the working directory";
  EXPECT_EQ(versions({"env", "A=1", python, "bench.py"}), all);
  write("venv/bin/vllm", "#!" + python + "\nimport vllm\n");
  EXPECT_EQ(versions({"venv/bin/vllm", "serve"}), all);
  fs::create_directories(folder() / "bin");
  fs::copy_file(folder() / "venv/bin/vllm", folder() / "bin/vllm");
  EXPECT_EQ(versions({"vllm", "serve"}), all) << "on PATH";
}

TEST_F(packages, of_pythons_outside_of_an_environment_are_those_of_their_version) {
  write("usr/bin/python3.11", "x");
  fs::create_symlink("python3.11", folder() / "usr/bin/python3");
  for (const char* path : {"usr/lib/python3.11/site-packages/numpy-2.1.dist-info",
                           "usr/lib/python3.12/site-packages/numpy-2.2.dist-info",
                           "usr/lib/python3/dist-packages/numpy-1.24.egg-info",
                           "home/.local/lib/python3.11/site-packages/torch-2.10.dist-info"})
    fs::create_directories(folder() / path);
  EXPECT_EQ(versions({"usr/bin/python3", "x.py"}),
            (package_texts{{"pip numpy", "2.1"}, {"pip torch", "2.10"}}));
}

TEST_F(packages, that_nobody_can_tell_are_said_to_be_unknown) {
  EXPECT_THAT(versions({"sh", "-c", "python3 bench.py"})[pip_packages], HasSubstr("sh starts is not known"));
  write("run.sh", "#!/bin/bash\npython3 bench.py\n");
  EXPECT_THAT(versions({"./run.sh"})[pip_packages], HasSubstr("run.sh starts is not known"));
  EXPECT_EQ(versions({"python3", "x.py"})[pip_packages], "? python3 was not found");
  EXPECT_THAT(versions({environment("empty", {})})[pip_packages], HasSubstr("no installed package"));
  fs::remove(folder() / "status");
  EXPECT_THAT(versions({"./engine"})[dpkg_packages], HasSubstr("there is no "));
}

TEST_F(packages, of_a_program_without_python_are_the_systems_of_cuda_only) {
  write("engine",
        "\x7f"
        "ELF");
  EXPECT_THAT(versions({"./engine"}), IsEmpty());
  write("status",
        "Package: libcublas-13-0\nStatus: install ok installed\nVersion: 13.0.2.14-1\n\n"
        "Package: libcurl4\nStatus: install ok installed\nVersion: 7.88\n\n"
        "Package: nvidia-driver-580\nStatus: deinstall ok config-files\nVersion: 580.65\n\n"
        "Package: libnccl2\nStatus: install ok installed\nVersion: 2.28\n");
  EXPECT_EQ(versions({"./engine"}),
            (package_texts{{"dpkg libcublas-13-0", "13.0.2.14-1"}, {"dpkg libnccl2", "2.28"}}));
}

}  // namespace
}  // namespace profgate::artifacts
