"""What is answered from rollups is what the table says, and a rollup is what its query says from scratch: random
tables, rollups and queries. TL_ROLLUP_QUERIES queries for each of TL_ROLLUP_SEEDS seeds from TL_ROLLUP_SEED on."""

import os

import pytest
from rollup_world import World

QUERIES = int(os.environ.get("TL_ROLLUP_QUERIES", "150"))
SEEDS = int(os.environ.get("TL_ROLLUP_SEEDS", "3"))
SEED = int(os.environ.get("TL_ROLLUP_SEED", "0"))


@pytest.mark.parametrize("seed", range(SEED, SEED + SEEDS))
def test_queries_from_rollups_are_those_of_the_table(tmp_path, seed):
    ask(World(tmp_path, seed), QUERIES)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 104))
def test_a_thousand_queries_from_rollups_are_those_of_the_table(tmp_path, seed):
    ask(World(tmp_path, seed), 250)


def ask(world: World, queries: int):
    world.append(6000)
    routed = 0
    retained_at = world.choose.randrange(queries // 2, queries) if world.seed % 2 else queries
    with world.lake.session() as session, world.lake.session() as plain:
        plain.sql("SET timelake_rollup_routing = 'off'").close()
        for number in range(queries):
            step = world.choose.random()
            if step < 0.1:
                world.append()
            elif step < 0.13:
                world.table.delete(f"i % 7 = {world.choose.randrange(7)} AND host = 'a'")
            elif step < 0.15:
                world.table.maintain(rollups=False, full=True)
            elif step < 0.2 and world.rollups:
                name = world.choose.choice(list(world.rollups))
                world.lake.refresh_rollup(name, full=world.choose.random() < 0.2, max_bytes=world.choose.choice([0, 0, 20_000]))
            if number == retained_at:
                world.retain()
            if not world.rollups or (number % 25 == 0 and len(world.rollups) < 8):
                world.create()
            routed += world.query(session, plain)
        assert routed > queries / 20
        world.table.maintain()
        plain.sql("SET TimeZone = 'UTC'").close()
        world.check_rollups(plain)
