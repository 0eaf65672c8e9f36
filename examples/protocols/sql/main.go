// Command sql is SQLite, inside this program, behind PostgreSQL's protocol. All values travel as text.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	wire "github.com/jeroenrinzema/psql-wire"
	"github.com/ncruces/go-sqlite3"
)

const schema = `
CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 1000) INSERT INTO account SELECT id, 0 FROM n;`

func main() {
	addr := flag.String("addr", "127.0.0.1:5432", "where to listen")
	dir := flag.String("dir", ".", "where to keep the database")
	journal := flag.String("journal", "wal", "of the database: wal, or delete")
	flag.Parse()
	if err := run(*addr, filepath.Join(*dir, "bank.db"), *journal); err != nil {
		log.Fatal(err)
	}
}

func run(addr, file, journal string) error {
	first, err := open(file)
	if err != nil {
		return err
	}
	defer first.Close()
	if err := first.db.Exec("PRAGMA journal_mode = " + sqlite3.Quote(journal) + ";" + schema); err != nil {
		return fmt.Errorf("make %s: %w", file, err)
	}
	server, err := wire.NewServer(prepare, wire.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		wire.SessionMiddleware(func(ctx context.Context) (context.Context, error) {
			s, err := open(file)
			return context.WithValue(ctx, key{}, s), err
		}),
		wire.CloseConn(func(ctx context.Context) error { return ctx.Value(key{}).(*session).Close() }))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { server.Close() })
	return server.ListenAndServe(addr)
}

// A session is a connection, with its statements by their text.
type session struct {
	db         *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
}

type key struct{} // of the session, in a context

func open(file string) (*session, error) {
	db, err := sqlite3.Open(file)
	if err != nil {
		return nil, err
	}
	return &session{db, map[string]*sqlite3.Stmt{}}, db.BusyTimeout(10 * time.Second)
}

func (s *session) Close() error {
	for _, stmt := range s.statements {
		stmt.Close()
	}
	return s.db.Close()
}

func prepare(ctx context.Context, q wire.Query) (wire.PreparedStatements, error) {
	s := ctx.Value(key{}).(*session)
	stmt := s.statements[q.Query]
	if stmt == nil {
		var err error
		if stmt, _, err = s.db.Prepare(q.Query); err != nil {
			return nil, err
		}
		if stmt == nil { // a comment
			return wire.Prepared(wire.NewStatement(func(_ context.Context, w wire.DataWriter, _ []wire.Parameter) error {
				return w.Empty()
			})), nil
		}
		s.statements[q.Query] = stmt
	}
	columns := make(wire.Columns, stmt.ColumnCount())
	for i := range columns {
		columns[i] = wire.Column{Name: stmt.ColumnName(i), Oid: pgtype.TextOID}
	}
	return wire.Prepared(wire.NewStatement(func(_ context.Context, w wire.DataWriter, args []wire.Parameter) error {
		return s.execute(stmt, w, args)
	}, wire.WithColumns(columns), wire.WithParameters(make([]uint32, stmt.BindCount())))), nil
}

func (s *session) execute(stmt *sqlite3.Stmt, w wire.DataWriter, args []wire.Parameter) error {
	defer stmt.Reset()
	for i, a := range args {
		if err := stmt.BindText(i+1, string(a.Value())); err != nil {
			return err
		}
	}
	rows := 0
	for ; stmt.Step(); rows++ {
		row := make([]any, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		if err := w.Row(row); err != nil {
			return err
		}
	}
	if err := stmt.Err(); err != nil {
		return err
	}
	if stmt.ColumnCount() == 0 {
		return w.Complete(fmt.Sprint("UPDATE ", s.db.Changes()))
	}
	return w.Complete(fmt.Sprint("SELECT ", rows))
}
