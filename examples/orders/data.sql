insert into products (name) select 'product ' || n from generate_series(1, 1000) n;
insert into orders (customer) select 'customer ' || n from generate_series(1, 10000) n;
insert into lines (order_id, product_id, count)
  select o, 1 + (o * 7 + l * 131) % 1000, 1 + l % 5 from generate_series(1, 10000) o, generate_series(1, 10) l;
