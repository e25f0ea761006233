#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/random.h"
#include "table/env.h"
#include "table/rewrite.h"

namespace timelake::sim {

// Times of a run are of one order of magnitude, so that their order is what varies: a suspension
// may be shorter or longer than the age, and snapshots live shorter than versions.
inline constexpr int64_t kUnitUs = 10'000;
inline constexpr int64_t kAgeUs = 100 * kUnitUs;       // metadata-min-age
inline constexpr int64_t kRetentionUs = 40 * kUnitUs;  // snapshot-retention

// Uniform in [0, 1).
inline double Fraction(Random& random) {
  return static_cast<double>(random.Next64() >> 11) * 0x1p-53;
}
inline bool Chance(Random& random, double probability) { return Fraction(random) < probability; }

// What can be switched off, to show what it prevents.
struct Switches {
  table::Rules rules;
  table::RewriteChecks rewrites;
  bool match_columns = true;  // of appends, on every attempt
};

// What one seed decides beforehand.
struct Config {
  uint64_t seed = 0;
  bool dedup = true;
  bool foreign = false;          // a writer that is not ours; the table is shared
  bool power_loss = false;       // on a disk that forgets what was not synced
  bool compare_and_swap = true;  // for the hint
  bool injected_hints = false;   // the hint is lost, old, too high or garbage now and then
  bool wrong_clocks = false;     // wall clocks differ and are set anew
  bool shared_handle = false;    // two threads of one process append through one handle
  bool racing_creates = false;   // the table is made by two at once, under faults
  double faults = 0.04;          // of requests: lost before, and as many after the effect
  double late = 0.02;          // of conditional puts and deletes: no reply, effect some time later
  double hint_faults = 0;      // of writes of the hint, on top
  size_t list_page = 7;        // objects on one page of a listing
  double suspensions = 0.015;  // of steps
  double put_sleeps = 0;       // of puts of a version: a long suspension just before or after
  double probe_sleeps = 0;     // of reads of a version: a long suspension before the reply
  double hint_spoils = 0.001;  // of steps, with injected hints
  double crashes = 0.0005;     // of steps
  double jumps = 0.01;         // of steps: nothing happens for up to an age
  int64_t step_us = 4000;      // mean time between two steps
  double restarts = 0.15;      // of turns: nothing is known or cached
  double load_share = 0.2;     // of appends: the newest version is looked for first
  double batch_share = 0.4;    // of appends: have a batch id
  int batch_ids = 4;           // b0 .. b3
  bool last_append = true;     // in the quiet end: an append,
  bool last_expiry = true;     // ... and snapshots expire
  int more_turns = 0;          // of each process, on top of two to six
  int writers = 3;
  int maintainers = 1;
  int rewriters = 0;         // merge files, delete rows
  double merge_share = 0.6;  // of their turns; the others delete
  int retainers = 0;         // drop what is past retention
  int changers = 0;          // change columns and the retention
  int readers = 1;
  int rollers = 0;   // roll back, tag
  int droppers = 0;  // drop and create again
  int foreigners = 0;
  int refreshers = 0;             // of one rollup
  double foreign_deletes = 0.25;  // of their commits: take out a file
  std::shared_ptr<const table::Rules> rules;
  table::RewriteChecks rewrite_checks;
  bool match_columns = true;
};

// `lean`: the name of a rule, whose fault the mix makes more likely where it is switched off; or
// "".
Config MakeConfig(uint64_t seed, const std::string& lean, const Switches& switches);

}  // namespace timelake::sim
