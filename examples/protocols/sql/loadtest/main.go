// Command loadtest is a load for a database that speaks PostgreSQL's protocol, through database/sql.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"math/rand/v2"

	"github.com/lib/pq"

	"github.com/dynolab/dyno/load/client"
)

func main() {
	accounts := flag.Int("accounts", 1000, "among which the load chooses")
	flag.Parse()
	client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
		db, err := sql.Open("postgres", "postgres://dyno@"+t.Addr+"/bank?sslmode=disable")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1) // of this client, which dials again if it breaks
		return &teller{db, rand.New(rand.NewPCG(t.Seed, uint64(t.Client))), *accounts}, db.PingContext(ctx)
	})
}

type teller struct {
	db       *sql.DB
	random   *rand.Rand
	accounts int
}

// Do reads the balance of an account and adds one to it.
func (t *teller) Do(ctx context.Context, r *client.Request) error {
	id := 1 + t.random.IntN(t.accounts)
	r.Step("read")
	var balance int
	err := t.db.QueryRowContext(ctx, "SELECT balance FROM account WHERE id = $1", id).Scan(&balance)
	if err != nil {
		return kind(err)
	}
	r.Step("add")
	result, err := t.db.ExecContext(ctx, "UPDATE account SET balance = balance + 1 WHERE id = $1", id)
	if err != nil {
		return kind(err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errAccount, err)
	}
	return nil
}

var errAccount = errors.New("the account was not changed")

// kind counts errors of the database by their code: their texts have values in them.
func kind(err error) error {
	if e := new(pq.Error); errors.As(err, &e) {
		return client.Kind("SQLSTATE "+string(e.Code), err)
	}
	return err
}

func (t *teller) Close() error { return t.db.Close() }
