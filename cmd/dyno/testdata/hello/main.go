// Command hello is a service with a child that outlives its requests.
package main

import (
	"net/http"
	"os"
	"os/exec"
)

func main() {
	exec.Command("sleep", "3600").Start()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 10000)) })
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
