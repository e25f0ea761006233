#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/object_store.h"
#include "timelake/options.h"

namespace timelake::table {

class MetaCache;

// Rules of the commit protocol that the simulation can switch off, each to show that it finds the
// fault the rule prevents. All on everywhere else. Names follow docs/commit-protocol.md.
struct Rules {
  bool probe_base_check = true;  // a probe counts only while its base is known to be there
  bool proof_before = true;      // a proof is dated before the request that proves
  bool cold_list = true;         // every cold load lists
  bool base_check = true;        // step 4
  bool base_skip =
      true;  // step 4 may be skipped while the proof is younger than age/2 (off: always ask)
  bool shared_list = true;    // shared tables: load and step 4 by listing
  bool list_same = true;      // a listing counts only if young and its newest object is still there
  bool again_unknown = true;  // a fork verdict on a repeated put says nothing of earlier sends
  bool own_name = true;       // every open attempt is settled by reading its own name
  bool unsettled_unknown = true;  // an open attempt when time is up -> commit unknown
  bool clean_known = true;        // clean up only after attempts known to have failed
  bool verdict_fixed =
      true;                 // step 4's verdict by ours newest / snapshot held / an older one above
  bool uuid = true;         // another table-uuid -> dropped or replaced
  bool hint_cas = true;     // hint by compare-and-swap
  bool hint_valid = true;   // a hint that names a missing version is garbage
  bool hint_repair = true;  // maintenance repairs the hint first
  bool free_age = true;     // free vK only when v(K+1) has been there for the age
  bool free_hint = true;    // free only below the hint
  bool free_order = true;   // free in ascending order
  bool free_files_first = true;  // files before their metadata file
  bool free_diff = true;         // spare what v(K+1) names, too
  bool free_chain = true;        // only the real chain is expired, dead forks keep their files
  bool batch_ids = true;         // batch ids are checked at all
  bool batch_each = true;        // ... on every attempt
  bool batch_ancestors = true;   // ... among ancestors of the head only
  bool batch_fold = true;        // expiry folds ids into the log
  bool batch_anchor = true;      // ... with the snapshot they hide behind
  bool batch_gap = true;         // ... kept ancestors beyond a gap included
  bool batch_own = true;         // a hit on one of this call's own attempts is an acknowledgement
  bool index_chain = true;  // the index is extended over append- and replace-only snapshots only
  // No rule: an index of more rows grows by parts. Less where tests want parts of small tables.
  int64_t index_whole_rows = 16384;
};

// Everything with an effect, injected. Copied freely; the members are thread-safe.
struct Env {
  std::shared_ptr<store::ObjectStore> store;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Random> random;
  std::shared_ptr<Observer> observer;  // may be null
  std::shared_ptr<MetaCache> cache;    // may be null: nothing is cached
  std::shared_ptr<const Rules> rules;  // never null
  std::shared_ptr<MetaCache> recent;   // rows just written (recent_rows.h); may be null

  void Log(LogLevel level, const std::string& message) const {
    if (observer && observer->log) observer->log(level, message);
  }
  void Metric(const char* name, int64_t value = 1) const {
    if (observer && observer->metric) observer->metric(name, value);
  }
};

// The machine's clock and randomness, all rules on, a fresh cache.
Env MakeEnv(std::shared_ptr<store::ObjectStore> store,
            std::shared_ptr<Observer> observer = nullptr);

}  // namespace timelake::table
