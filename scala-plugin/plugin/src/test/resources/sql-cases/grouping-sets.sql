-- CUBE, ROLLUP and GROUPING SETS over columns of a table with many NULLs.
-- tables: t, none

-- expect: shared
select a, b, count(*), sum(c), max(d) from t group by cube(a, b);

-- expect: shared
select a, s.u, grouping(a), grouping_id(), avg(w) from t where c > 0 group by rollup(a, s.u);

-- A set that is asked for twice has its rows twice.
-- expect: shared
select a, count(*) from t group by grouping sets ((a), (a), ());

-- expect: shared
select a, flag, count(*) n from t group by grouping sets ((a, flag), (flag)) order by n desc, a, flag limit 5;

-- expect: shared
select a, b, count(*), sum(c) from none group by grouping sets ((a, b), ());

-- One empty set is an aggregate of everything.
-- expect: declined SINGLE_AGGREGATE
select count(*), sum(c) from t group by grouping sets (());
