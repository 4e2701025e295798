-- Groupings of one input that meet in a union.
-- tables: t, dim, none

-- expect: shared
select a k, sum(c) v from t group by a
union all
select by, count(*) from t group by by
union all
select null, sum(sh) from t;

-- Branches under different conditions.
-- expect: shared
select a k, sum(c) v from t where z > 0 group by a
union all
select a, sum(c) from t where flag group by a;

-- A branch of another table stays what it is.
-- expect: shared
select a, count(*) n from t group by a
union all
select n, max(a) from t group by n
union all
select a, 1 from dim;

-- expect: shared
select a, count(*) n from none group by a
union all
select null, count(*) from none;

-- expect: declined DIFFERENT_INPUTS
select a, count(*) n from t group by a
union all
select a, count(*) from dim group by a;

-- expect: untouched
select a from t where a > 1 union all select a from dim;

-- A branch that puts out a column twice, and is not the first.
-- expect: shared
select n n, m m, dense_rank() over (partition by n order by k) r from (
  select a k, sum(sh) m, count(*) n from t group by a
  union all
  select a, sum(sh), count(*) from t where flag group by a
  union all
  select z, sum(distinct sh), count(*) from t group by z
);

-- expect: shared
select n n, rank() over (partition by n order by n) r from (
  select count(*) n from t where c > 3 group by window(ts, '279 minutes', '93 minutes')
  union all
  select count(*) n from t group by window(ts, '2 minutes')
  union all
  select count(*) n from t group by window(ts, '2 minutes')
);

-- Branches of an input that ask one column of theirs for what others ask of two.
-- expect: shared
with u as (select a y1, a y2, b, c from t union all select z, n, b, c from t)
select b, sum(c) s from u where y1 > 1 and y2 < 3 group by b
union all
select b, max(c) from u where y1 > 0 and y2 < 3 group by b;

-- An input that is a union, into whose branches Spark puts the copy that ROLLUP makes of a key.
-- expect: shared
select n n, m m, dense_rank() over (partition by k order by n) r from (
  with u as (select a a, flag flag from t union all select a a, flag flag from t)
  select flag k, count_if(a is not null) n, min(flag) m from u group by rollup(flag)
  union all
  select cast(null as boolean), sum(if(not flag, 1, 0)), max(flag) from u
);
