-- Aggregates of one groupBy under conditions, and FILTER clauses.
-- tables: t

-- expect: shared
select a, sum(if(z > 0, c, 0)), count(if(flag, 1, null)), max(case when by > 0 then c end) from t group by a;

-- expect: shared
select sum(c) filter (where z = 1), sum(c) filter (where z = 2), count(*) filter (where flag) from t group by b;

-- expect: shared
select a, b, sum(c) filter (where z > 0), count(*) from t group by rollup(a, b);

-- conf: spark.phantoms.predicates.enabled=false
-- expect: declined DISABLED
select a, sum(if(z > 0, c, 0)), count(if(flag, 1, null)), max(case when by > 0 then c end) from t group by a;
