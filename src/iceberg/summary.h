#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace timelake::iceberg {

// The summary of a snapshot: a map that its copies share until one of them is changed, and its JSON
// with it. Each version of a table's metadata holds the summaries of all its snapshots, most of
// them as they were in the version before.
class Summary {
 public:
  using Map = std::map<std::string, std::string>;
  using const_iterator = Map::const_iterator;
  using value_type = Map::value_type;

  Summary() = default;
  Summary(Map map);  // NOLINT: is one
  Summary(std::initializer_list<value_type> values) : Summary(Map(values)) {}

  const Map& map() const;
  operator const Map&() const { return map(); }  // NOLINT: is one

  const_iterator begin() const { return map().begin(); }
  const_iterator end() const { return map().end(); }
  const_iterator find(const std::string& key) const { return map().find(key); }
  bool contains(const std::string& key) const { return map().contains(key); }
  const std::string& at(const std::string& key) const { return map().at(key); }
  bool empty() const { return map().empty(); }
  size_t size() const { return map().size(); }
  bool operator==(const Summary& other) const { return map() == other.map(); }

  std::string& operator[](const std::string& key) { return Own()[key]; }
  void emplace(const std::string& key, std::string value) { Own().emplace(key, std::move(value)); }
  void insert(const value_type& value) { Own().insert(value); }
  size_t erase(const std::string& key) { return Own().erase(key); }

  // An object of strings. Written once for all copies.
  const std::string& Json() const;

 private:
  struct Shared;
  Map& Own();

  std::shared_ptr<Shared> shared_;  // null: empty
};

}  // namespace timelake::iceberg
