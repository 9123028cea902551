#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace profgate::test {

/// A test's own queries over an nsys export.
class sql_file {
 public:
  explicit sql_file(const std::filesystem::path& file) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    m_database.reset(database);
  }

  std::vector<std::vector<std::int64_t>> rows(const std::string& statements) const {
    std::vector<std::vector<std::int64_t>> result;
    char* problem = nullptr;
    const auto keep = [](void* list, int columns, char** texts, char**) {
      auto& row = static_cast<std::vector<std::vector<std::int64_t>>*>(list)->emplace_back();
      for (int i = 0; i < columns; ++i) row.push_back(texts[i] == nullptr ? -1 : std::stoll(texts[i]));
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(m_database.get(), statements.c_str(), keep, &result, &problem), SQLITE_OK)
        << problem << "\n"
        << statements;
    return result;
  }
  std::int64_t number(const std::string& query) const { return rows(query).at(0).at(0); }

 private:
  struct close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  std::unique_ptr<sqlite3, close> m_database;
};

}  // namespace profgate::test
