// Orders is a service on Postgres and Redis: GET /order?id=N returns an order with its lines and the names of its
// products, POST /order adds one, and GET /example returns one without asking anybody, which is all that it does
// without DATABASE_URL. Variables change how it does that:
//
//	LINES=join|each   one statement for all lines, or one more for each line
//	CACHE=off|on      names of products come from Postgres, or from Redis where it has them
//	POOL=N            most connections to Postgres
//	WRITES=N          lines of a new order (default 3)
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

type line struct {
	Product int    `json:"product"`
	Name    string `json:"name"`
	Count   int    `json:"count"`
}

type shop struct {
	db    *pgxpool.Pool
	cache *redis.Client // nil: names are not cached
	each  bool
	lines int // of a new order
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to serve")
	flag.Parse()
	ctx := context.Background()
	conf, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	conf.MaxConns = 10
	if n, err := strconv.Atoi(os.Getenv("POOL")); err == nil && n > 0 {
		conf.MaxConns = int32(n)
	}
	s := &shop{each: os.Getenv("LINES") == "each", lines: 3}
	if n, err := strconv.Atoi(os.Getenv("WRITES")); err == nil {
		s.lines = n
	}
	http.HandleFunc("GET /example", example)
	if os.Getenv("DATABASE_URL") == "" {
		log.Fatal(http.ListenAndServe(*addr, nil))
	}
	if s.db, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		log.Fatal(err)
	}
	if err := s.db.Ping(ctx); err != nil {
		log.Fatal(err)
	}
	if os.Getenv("CACHE") == "on" {
		options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
		if err != nil {
			log.Fatal(err)
		}
		s.cache = redis.NewClient(options)
	}
	http.HandleFunc("GET /order", s.get)
	http.HandleFunc("POST /order", s.add)
	log.Fatal(http.ListenAndServe(*addr, nil))
}

func (s *shop) get(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.FormValue("id"))
	if err != nil {
		http.Error(w, "want id=N", http.StatusBadRequest)
		return
	}
	var lines []line
	if s.each || s.cache != nil {
		lines, err = s.oneByOne(r.Context(), id)
	} else {
		lines, err = s.joined(r.Context(), id)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case len(lines) == 0:
		http.NotFound(w, r)
	default:
		json.NewEncoder(w).Encode(lines)
	}
}

// joined asks once.
func (s *shop) joined(ctx context.Context, id int) ([]line, error) {
	rows, err := s.db.Query(ctx, "select l.product_id, p.name, l.count from lines l join products p on p.id = l.product_id where l.order_id = $1", id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[line])
}

// oneByOne asks for the lines, and then for each name.
func (s *shop) oneByOne(ctx context.Context, id int) ([]line, error) {
	rows, err := s.db.Query(ctx, "select product_id, '' as name, count from lines where order_id = $1", id)
	if err != nil {
		return nil, err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[line])
	for i := range lines {
		if lines[i].Name, err = s.name(ctx, lines[i].Product); err != nil {
			return nil, err
		}
	}
	return lines, err
}

func (s *shop) name(ctx context.Context, product int) (name string, err error) {
	key := "name:" + strconv.Itoa(product)
	if s.cache != nil {
		if name, err = s.cache.Get(ctx, key).Result(); err == nil || !errors.Is(err, redis.Nil) {
			return name, err
		}
	}
	if err = s.db.QueryRow(ctx, "select name from products where id = $1", product).Scan(&name); err == nil && s.cache != nil {
		err = s.cache.Set(ctx, key, name, time.Hour).Err()
	}
	return name, err
}

func example(w http.ResponseWriter, _ *http.Request) {
	lines := make([]line, 10)
	for i := range lines {
		lines[i] = line{i, "product " + strconv.Itoa(i), 1}
	}
	json.NewEncoder(w).Encode(lines)
}

// add writes an order with its lines.
func (s *shop) add(w http.ResponseWriter, r *http.Request) {
	err := pgx.BeginFunc(r.Context(), s.db, func(tx pgx.Tx) error {
		var id int
		if err := tx.QueryRow(r.Context(), "insert into orders (customer) values ($1) returning id", "somebody").Scan(&id); err != nil {
			return err
		}
		for product := range s.lines {
			if _, err := tx.Exec(r.Context(), "insert into lines (order_id, product_id, count) values ($1, $2, 1)", id, product%100+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}
