#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/raw_table.h"

namespace timelake::sim {

// What the table must hold, from what callers asked for and the order in which it became real.
// Knows nothing of versions and files' fates.
class Oracle {
 public:
  explicit Oracle(bool dedup) : dedup_(dedup) {}

  void AddFile(const std::string& key, std::vector<Row> rows) { contents_[key] = std::move(rows); }

  // Which rows are past, by their time: whole days, not quite known as clocks differ.
  struct Past {
    int64_t may = 0;   // earlier ones may go
    int64_t must = 0;  // earlier ones must
  };
  // What a call wants to change.
  struct Change {
    std::vector<std::string> added;    // data files
    std::vector<std::string> removed;  // of a foreign delete
    std::string batch_id;
    // Of a compaction or a delete: files that go, and the one that has what is left of their rows.
    struct Move {
      std::vector<std::string> inputs;
      std::string output;  // "": nothing is left
    };
    std::vector<Move> moves = {};
    std::set<Row> gone = {};        // the rows that a delete saw; no other may vanish
    std::optional<Past> past = {};  // of retention, in place of all others
  };
  // `raw`: what the snapshot names.
  void Follow(int64_t snapshot_id, std::optional<int64_t> parent, const Change& change,
              const RawSnapshot& raw);

  bool knows(int64_t snapshot_id) const { return states_.contains(snapshot_id); }
  int64_t added_rows(int64_t snapshot_id) const { return states_.at(snapshot_id).added_rows; }

  // Of a data file.
  const std::vector<Row>& rows(const std::string& key) const { return contents_.at(key); }

  // Whether `head` or a snapshot before it carries the id, expired ones included.
  bool Carries(std::optional<int64_t> head, const std::string& batch_id) const;
  // All ids of `head` and before.
  std::set<std::string> BatchIds(std::optional<int64_t> head) const;

  // "" when the live files hold exactly the rows that they must, in the order that decides between
  // two of one series and time, and the index (if any) each series' newest. `columns`: ids of the
  // snapshot's; values of others are in no index.
  std::string Check(int64_t snapshot_id, const RawSnapshot& raw,
                    const std::set<int>& columns) const;

 private:
  using Rows = std::vector<Row>;
  struct Placed {
    Row row;
    std::string file;
  };
  struct State {
    std::optional<int64_t> parent;
    std::string batch_id;
    int64_t added_rows = 0;
    std::vector<Placed> placed;  // in the order of writes
    std::string wrong;           // what the change did beyond what it said
  };

  Rows Visible(const Rows& in_order) const;
  Rows Visible(const std::vector<Placed>& placed) const;
  void Move(const Change& change, State* state) const;
  void Retain(const Past& past, const RawSnapshot& raw, State* state) const;
  std::string CheckIndex(const Rows& in_order, const std::map<int64_t, Row>& index,
                         const std::set<int>& columns) const;

  const bool dedup_;
  std::map<std::string, Rows> contents_;  // of all data files ever
  std::map<int64_t, State> states_;       // of all real snapshots ever
};

}  // namespace timelake::sim
