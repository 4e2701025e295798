"""The chooser alone: which relations it would maintain, from queries and statistics only (SMAP's running example)."""

import phantoms

QUERIES = [["A", "B"], ["B", "C"], ["B", "D"], ["C", "D"]]
STATS = {
    "rows": 50_000_000,
    "groups": {"A,B": 1_846, "B,C": 1_520, "B,D": 1_800, "C,D": 1_610, "B,C,D": 2_117, "A,B,C,D": 2_837},
    "flow_length": 4.0,
}


def main() -> None:
    for memory in (64 << 10, 1 << 20, 16 << 20):
        print(f"{memory >> 10:>6} KiB  {phantoms.plan(QUERIES, STATS, memory=memory)}")


if __name__ == "__main__":
    main()
