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
