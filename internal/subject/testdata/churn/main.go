// Command churn allocates as much as its argument says, in blocks of 4 KiB,
// and prints how many garbage collections and how many seconds that took.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

var live [64][]byte

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	start := time.Now()
	for i := 0; i < n; i++ {
		b := make([]byte, 4096)
		for j := range b {
			b[j] = byte(i)
		}
		live[i%len(live)] = b
	}
	elapsed := time.Since(start)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println(m.NumGC, elapsed.Seconds())
}
