-- Aggregates of one input on the sides of joins, in common table expressions and in subqueries.
-- tables: t, dim

-- expect: shared
select x.a, x.n, y.most
from (select a, count(*) n from t group by a) x
join (select a, b, max(c) most from t group by a, b) y on x.a = y.a;

-- expect: shared
with by_both as (select a, b, sum(c) total from t group by a, b),
     by_one as (select a, sum(c) total from t group by a)
select d.name, p.b, p.total, o.total
from by_both p join by_one o on p.a = o.a join dim d on d.a = p.a
where o.total > 10;

-- expect: shared
select x.a, x.n from (select a, count(*) n from t group by a) x
left join (select by, sum(c) v from t group by by) y on x.a = y.by
where y.v is null or y.v > 0;

-- The same grouping on both sides is shuffled once by Spark itself.
-- expect: untouched
select x.a, x.n, y.n from (select a, count(*) n from t group by a) x
join (select a, count(*) n from t group by a) y on x.a = y.a;
