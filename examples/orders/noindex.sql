create table products (id serial primary key, name text not null);
create table orders (id serial primary key, customer text not null);
create table lines (order_id int not null references orders, product_id int not null references products, count int not null);
