-- Conditions on groups.
-- tables: t

-- expect: shared
select a, b, count(*) n from t group by cube(a, b) having count(*) > 10 and sum(c) > 0;

-- On the keys, where NULL stands for "all" too.
-- expect: shared
select a, b, count(*) from t group by grouping sets ((a), (a, b), (b)) having a > 0 or grouping(a) = 1;

-- expect: shared
select a k, count(*) n from t group by a having max(c) > 100
union all
select by, count(*) from t group by by having by <> 0;

-- expect: shared
select * from (select a, b, sum(c) v from t group by rollup(a, b)) where v > 5 and a is not null;

-- Of all sets one is left.
-- expect: declined SINGLE_AGGREGATE
select * from (select a, b, sum(c) v from t group by rollup(a, b)) where v > 5 and b is not null;
