// Command loadtest is a load for a database that speaks PostgreSQL's protocol, through database/sql.
package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lib/pq"

	"github.com/dynolab/dyno/load/client"
)

func main() {
	client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
		db, err := sql.Open("postgres", "postgres://dyno@"+t.Addr+"/bank?sslmode=disable")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1) // of this client, which dials again if it breaks
		return &teller{db, int64(100 * t.Client)}, db.PingContext(ctx)
	})
}

type teller struct {
	db    *sql.DB
	first int64 // account, another one for each client
}

// Do reads the balance of an account and adds one to it.
func (t *teller) Do(ctx context.Context, r *client.Request) error {
	id := 1 + (t.first+r.N)%1000
	r.Step("read")
	var balance int
	err := t.db.QueryRowContext(ctx, "SELECT balance FROM account WHERE id = $1", id).Scan(&balance)
	if err == nil {
		r.Step("add")
		_, err = t.db.ExecContext(ctx, "UPDATE account SET balance = $2 WHERE id = $1", id, balance+1)
	}
	if e := new(pq.Error); errors.As(err, &e) { // its text has values in it, its code has none
		return client.Kind("SQLSTATE "+string(e.Code), err)
	}
	return err
}

func (t *teller) Close() error { return t.db.Close() }
